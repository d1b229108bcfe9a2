//! Frames on a connection: the length in four bytes, most significant first, and a message in postcard's format.

use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::limits::MAX_FRAME;

/// What comes in a frame.
#[derive(Debug)]
pub enum Received<T> {
    /// A message.
    Message(T),
    /// A frame that holds no message; the next may be sound.
    Malformed(String),
    /// A length above [`MAX_FRAME`]: where the next frame begins is unknown.
    TooLong(usize),
    /// The other side has closed the connection.
    End,
}

/// A value in bytes, on the wire and on the disk.
pub(crate) fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_stdvec(value)
}

/// The value in these bytes, all of which must be used.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, postcard::Error> {
    match postcard::take_from_bytes(bytes)? {
        (value, []) => Ok(value),
        _ => Err(postcard::Error::DeserializeBadEncoding),
    }
}

/// A message in a frame, or an error if it is longer than a frame may be.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    let length = frame.len() - 4;
    if length > MAX_FRAME {
        let problem = format!("a message of {length} bytes is longer than {MAX_FRAME}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    // It fits: the longest frame is far below 2^32.
    frame[..4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(frame)
}

/// The length of the next frame, whatever it is; `None` if the other side has closed the connection.
pub async fn length(stream: &mut TcpStream) -> io::Result<Option<usize>> {
    let mut length = [0; 4];
    if stream.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut length[1..]).await?;
    Ok(Some(u32::from_be_bytes(length) as usize))
}

/// The message in the rest of a frame of this length, or what is wrong with it.
pub async fn message<T: DeserializeOwned>(stream: &mut TcpStream, length: usize) -> io::Result<Result<T, String>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    Ok(from_bytes(&bytes).map_err(|error| error.to_string()))
}

/// Receives a message, for callers with few connections.
pub async fn receive<T: DeserializeOwned>(stream: &mut TcpStream) -> io::Result<Received<T>> {
    Ok(match length(stream).await? {
        None => Received::End,
        Some(length) if length > MAX_FRAME => Received::TooLong(length),
        Some(length) => message(stream, length).await?.map_or_else(Received::Malformed, Received::Message),
    })
}

/// Sends a message on a connection and receives the answer to it.
pub async fn exchange<T: DeserializeOwned>(stream: &mut TcpStream, message: &impl Serialize) -> io::Result<T> {
    exchange_frame(stream, &encode(message)?).await
}

/// The same for a message that is in its frame.
pub async fn exchange_frame<T: DeserializeOwned>(stream: &mut TcpStream, frame: &[u8]) -> io::Result<T> {
    stream.write_all(frame).await?;
    match receive(stream).await? {
        Received::Message(answer) => Ok(answer),
        Received::Malformed(problem) => Err(io::Error::new(io::ErrorKind::InvalidData, problem)),
        Received::TooLong(_) => Err(io::ErrorKind::InvalidData.into()),
        Received::End => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
