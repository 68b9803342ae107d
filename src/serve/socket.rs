//! A connection that goes on as a WebSocket: frames to and fro, until one side ends it.

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

use cluster::clients::Sent;

use super::front::Guard;
use super::line::Inlet;

/// A frame may be so long. Clients send what they read of their standard input in pieces of 32 KiB.
const FRAME_MAX: usize = 1 << 20;

/// Carries frames until the session or the client ends the connection.
pub(super) async fn carry(upgrade: OnUpgrade, mut inlet: Inlet, mut guard: Guard) {
    // A client that leaves at this moment has hung up.
    let Ok(upgraded) = upgrade.await else { return };
    let config = WebSocketConfig::default().max_message_size(Some(FRAME_MAX)).max_frame_size(Some(FRAME_MAX));
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    loop {
        tokio::select! {
            sent = inlet.next() => match sent {
                Some(Sent::Frame(frame)) => {
                    if socket.send(Message::binary(frame)).await.is_err() {
                        return;
                    }
                }
                _ => {
                    guard.over();
                    // Whether it still listens is its own affair.
                    let _ = socket.close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() })).await;
                    return;
                }
            },
            message = socket.next() => match message {
                Some(Ok(Message::Binary(frame))) => guard.data(frame.into()),
                Some(Ok(Message::Text(text))) => guard.data(text.as_bytes().to_vec()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
        }
    }
}
