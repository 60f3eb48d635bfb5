//! Roles `mock`, `backend` and `batches`: a model server, and monitoring backends that take records one
//! by one or in batches too. They cost as little as possible. They read the whole request, then write prepared bytes. Each prints the address it
//! listens on and ends when its stdin closes.

use crate::answer::{Answer, batch, offer, timed};
use crate::first_byte::now;
use crate::wire::{Framing, Wire};
use anyhow::Result;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};

/// Prepared writes by answer.
type Answers = Arc<Vec<Vec<Vec<u8>>>>;

/// Any free port.
pub const ANYWHERE: &str = "127.0.0.1:0";

/// Serves until the process is ended; `unnamed` is the answer where the request names none.
pub fn run(unnamed: Answer, listen: &str) -> Result<()> {
    let answers: Vec<_> = Answer::ALL.iter().map(|answer| answer.writes()).collect();
    serve_all(Arc::new(answers), unnamed, listen)
}

/// Serves as a backend that takes batches.
pub fn run_batches(listen: &str) -> Result<()> {
    let mut answers: Vec<_> = Answer::ALL.iter().map(|answer| answer.writes()).collect();
    answers[Answer::Verdict as usize] = vec![offer()];
    serve_all(Arc::new(answers), Answer::Verdict, listen)
}

fn serve_all(answers: Answers, unnamed: Answer, listen: &str) -> Result<()> {
    crate::process::end_with_parent();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await?;
        println!("{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(serve(stream, Arc::clone(&answers), unnamed));
        }
    })
}

async fn serve(stream: TcpStream, answers: Answers, unnamed: Answer) {
    // The other side saw the same break and counts it.
    let _ = exchanges(stream, &answers, unnamed).await;
}

async fn exchanges(stream: TcpStream, answers: &Answers, unnamed: Answer) -> std::io::Result<()> {
    let mut wire = Wire::new(stream)?;
    while let Some(head) = wire.head().await? {
        if let (true, Framing::Length(length)) = (head.batch, head.framing) {
            let lines = wire.lines(length).await?;
            wire.send(&batch(lines)).await?;
            continue;
        }
        let answer = head.answer.unwrap_or(unnamed);
        let called_at = (answer == Answer::Timed).then(now);
        wire.body(head.framing).await?;
        if let Some(called_at) = called_at {
            let answer = answers[answer as usize].concat();
            wire.send(&timed(&answer, called_at)).await?;
            continue;
        }
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
