//! Frames on a connection: the length in four bytes, most significant first, and JSON.

use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The longest frame in bytes: a value of the longest, all of whose bytes JSON escapes, fits well.
pub const MAX_FRAME: usize = 8 << 20;

/// The bytes of a frame that each connection may hold beside all [`Memory`], so that what is small
/// passes also when others have taken all of that.
pub const POCKET: usize = 16 << 10;

/// The bytes that the frames of many connections may hold together.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Semaphore>);

impl Memory {
    /// So many bytes.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    /// Takes bytes for as long as the answer is held, if that many are left.
    pub fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = u32::try_from(bytes).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(bytes).ok()
    }
}

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

/// The bytes of a frame, and what they take of the memory of all.
#[derive(Debug)]
pub struct Body {
    bytes: Vec<u8>,
    held: Option<OwnedSemaphorePermit>,
}

impl Body {
    /// The message, and what is held for it.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn parse<T: DeserializeOwned>(self) -> Result<(T, Option<OwnedSemaphorePermit>), String> {
        let message = serde_json::from_slice(&self.bytes).map_err(|error| error.to_string())?;
        Ok((message, self.held))
    }
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

/// The length of the next frame, whatever it is; `None` if the other side has closed the connection.
///
/// # Errors
///
/// When the connection breaks.
pub async fn length(stream: &mut TcpStream) -> io::Result<Option<usize>> {
    let mut length = [0; 4];
    if stream.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut length[1..]).await?;
    Ok(Some(u32::from_be_bytes(length) as usize))
}

/// The rest of a frame of this length; `None` if the memory is used up.
///
/// What is allocated follows from the bytes that have come, never from what a length says: at most twice
/// as much, and a pocket.
///
/// # Errors
///
/// When the connection breaks.
pub async fn body(stream: &mut TcpStream, length: usize, memory: &Memory) -> io::Result<Option<Body>> {
    let mut bytes = Vec::with_capacity(length.min(POCKET));
    let mut held: Option<OwnedSemaphorePermit> = None;
    while bytes.len() < length {
        if bytes.len() == bytes.capacity() {
            let more = bytes.len().min(length - bytes.len());
            let Some(permit) = memory.take(more) else {
                return Ok(None);
            };
            match &mut held {
                Some(held) => held.merge(permit),
                None => held = Some(permit),
            }
            bytes.reserve_exact(more);
        }
        let room = (length - bytes.len()).min(bytes.capacity() - bytes.len());
        let mut part = (&mut *stream).take(room as u64);
        if part.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(Body { bytes, held }))
}

/// Receives a message, for whoever has few connections.
///
/// # Errors
///
/// When the connection breaks, also within a frame.
pub async fn receive<T: DeserializeOwned>(stream: &mut TcpStream) -> io::Result<Received<T>> {
    let length = match length(stream).await? {
        None => return Ok(Received::End),
        Some(length) if length > MAX_FRAME => return Ok(Received::TooLong(length)),
        Some(length) => length,
    };
    let body = body(stream, length, &Memory::new(MAX_FRAME)).await?;
    let body = body.ok_or(io::ErrorKind::OutOfMemory)?;
    Ok(match body.parse() {
        Ok((message, _)) => Received::Message(message),
        Err(problem) => Received::Malformed(problem),
    })
}

/// Sends a message on a connection and receives the answer to it.
///
/// # Errors
///
/// When the connection breaks, the message is too long, or the answer is none.
pub async fn exchange<T: DeserializeOwned>(stream: &mut TcpStream, message: &impl Serialize) -> io::Result<T> {
    exchange_frame(stream, &encode(message)?).await
}

/// The same for a message that is in its frame.
///
/// # Errors
///
/// When the connection breaks, or the answer is none.
pub async fn exchange_frame<T: DeserializeOwned>(stream: &mut TcpStream, frame: &[u8]) -> io::Result<T> {
    stream.write_all(frame).await?;
    match receive(stream).await? {
        Received::Message(answer) => Ok(answer),
        Received::Malformed(problem) => Err(io::Error::new(io::ErrorKind::InvalidData, problem)),
        Received::TooLong(_) => Err(io::ErrorKind::InvalidData.into()),
        Received::End => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
