//! Messages on a connection: frames with their length before them, in postcard's format.

use std::io;

use futures_util::{SinkExt, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio_util::bytes::Bytes;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use crate::limits::MAX_FRAME;

pub type Connection = Framed<TcpStream, LengthDelimitedCodec>;

pub fn connection(stream: TcpStream) -> Connection {
    // Should that fail, messages arrive later.
    let _ = stream.set_nodelay(true);
    LengthDelimitedCodec::builder().max_frame_length(MAX_FRAME).new_framed(stream)
}

/// Whether the other side has left a connection open on which nothing is under way.
pub(crate) fn is_open(connection: &Connection) -> bool {
    let read = connection.get_ref().try_read(&mut [0]);
    read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
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

/// Sends a message. One that no frame holds is [`InvalidInput`](io::ErrorKind::InvalidInput), and is not sent.
pub async fn send(connection: &mut Connection, message: &impl Serialize) -> io::Result<()> {
    connection.send(Bytes::from(to_bytes(message).map_err(io::Error::other)?)).await
}

/// Receives a message or what is wrong with it; `None` if the other side has closed the connection. A length above
/// [`MAX_FRAME`] is [`InvalidData`](io::ErrorKind::InvalidData): where the next frame begins is unknown.
pub async fn receive<T: DeserializeOwned>(connection: &mut Connection) -> io::Result<Option<Result<T, String>>> {
    let frame = connection.next().await.transpose()?;
    Ok(frame.map(|bytes| from_bytes(&bytes).map_err(|error| error.to_string())))
}

pub async fn exchange<T: DeserializeOwned>(connection: &mut Connection, message: &impl Serialize) -> io::Result<T> {
    send(connection, message).await?;
    let answer = receive(connection).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    answer.map_err(|problem| io::Error::new(io::ErrorKind::InvalidData, problem))
}
