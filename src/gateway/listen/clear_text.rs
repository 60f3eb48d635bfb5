//! Answers clients that speak HTTP in clear text to a port that speaks TLS, as web servers do: what they would read
//! otherwise is a TLS alert.

use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const BODY: &str = "This port speaks TLS: use https instead of http.\n";
/// A client's last bytes are read for so long: closing with unread bytes would reset the connection.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 64 << 10;

/// Waits for the first byte. A request begins with a letter, a TLS handshake with a record of type 22.
pub(super) async fn begins_with_request(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    let read = stream.peek(&mut first).await?;
    Ok(read == 1 && first[0].is_ascii_alphabetic())
}

/// Answers 400 and closes the connection.
pub(super) async fn refuse(mut stream: TcpStream) {
    let length = BODY.len();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{BODY}"
    );
    let answered = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        let mut rest = stream.take(LINGER_BYTES);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    // A client that has left needs no answer.
    let _ = timeout(LINGER, answered).await;
}
