//! Frames on a connection: the length in four bytes, most significant first, and JSON.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest frame in bytes: a value of the longest, all of whose bytes JSON escapes, fits well.
pub const MAX_FRAME: usize = 16 << 20;

/// What comes in a frame.
#[derive(Debug)]
pub enum Received<T> {
    /// A message.
    Message(T),
    /// A frame of which no message can be made; the next may be sound.
    Malformed(String),
    /// A length above [`MAX_FRAME`]: where the next frame begins is unknown.
    TooLong(usize),
    /// The other side has closed the connection.
    End,
}

/// A message in a frame.
///
/// # Errors
///
/// When it is longer than a frame may be.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > MAX_FRAME {
        let problem = format!("a message of {length} bytes is longer than {MAX_FRAME}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    // It fits: the longest frame is far below 2^32.
    frame[..4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(frame)
}

/// Receives a message.
///
/// What is allocated follows from the bytes that have come, never from what a length says.
///
/// # Errors
///
/// When the connection breaks, also within a frame.
pub async fn receive<T: DeserializeOwned>(stream: &mut TcpStream) -> io::Result<Received<T>> {
    let mut length = [0; 4];
    if stream.read(&mut length[..1]).await? == 0 {
        return Ok(Received::End);
    }
    stream.read_exact(&mut length[1..]).await?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_FRAME {
        return Ok(Received::TooLong(length));
    }
    let mut json = Vec::new();
    stream.take(length as u64).read_to_end(&mut json).await?;
    if json.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(match serde_json::from_slice(&json) {
        Ok(message) => Received::Message(message),
        Err(error) => Received::Malformed(error.to_string()),
    })
}

/// Sends a message on a connection and receives the answer to it.
///
/// # Errors
///
/// When the connection breaks, the message is too long, or the answer is none.
pub async fn exchange<T: DeserializeOwned>(
    stream: &mut TcpStream,
    message: &impl Serialize,
) -> io::Result<T> {
    exchange_frame(stream, &encode(message)?).await
}

/// The same for a message that is in its frame.
///
/// # Errors
///
/// When the connection breaks, or the answer is none.
pub async fn exchange_frame<T: DeserializeOwned>(
    stream: &mut TcpStream,
    frame: &[u8],
) -> io::Result<T> {
    stream.write_all(frame).await?;
    match receive(stream).await? {
        Received::Message(answer) => Ok(answer),
        Received::Malformed(problem) => Err(io::Error::new(io::ErrorKind::InvalidData, problem)),
        Received::TooLong(_) => Err(io::ErrorKind::InvalidData.into()),
        Received::End => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
