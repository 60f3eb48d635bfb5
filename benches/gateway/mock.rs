//! Role `mock`: an upstream that costs as little as possible. It reads the whole request, then
//! writes prepared bytes. It prints the address it listens on and ends when its stdin closes.

use super::answer::Answer;
use super::wire::Wire;
use anyhow::Result;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};

type Answers = Arc<Vec<Vec<Vec<u8>>>>;

/// Serves until the process is ended.
pub(crate) fn run() -> Result<()> {
    super::process::end_with_parent();
    let answers: Answers = Arc::new(Answer::ALL.iter().map(|answer| answer.writes()).collect());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(serve(stream, Arc::clone(&answers)));
        }
    })
}

async fn serve(stream: TcpStream, answers: Answers) {
    // The other side saw the same break and counts it.
    let _ = exchanges(stream, &answers).await;
}

async fn exchanges(stream: TcpStream, answers: &Answers) -> std::io::Result<()> {
    let mut wire = Wire::new(stream)?;
    while let Some(head) = wire.head().await? {
        wire.body(head.framing).await?;
        let answer = head.answer.unwrap_or(Answer::Json1k);
        for write in &answers[answer as usize] {
            wire.send(write).await?;
            // Lets the streams take turns frame by frame, as streams of a model server do.
            tokio::task::yield_now().await;
        }
        if answer == Answer::Held {
            wire.until_closed().await;
            return Ok(());
        }
        if head.close {
            return Ok(());
        }
    }
    Ok(())
}
