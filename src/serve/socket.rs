//! A connection that goes on as a WebSocket: frames to and fro, until one side ends it. They are the session's frames, or SPDY.

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

use cluster::clients::Sent;
use cluster::clients::stream::SPDY;

use super::front::Guard;
use super::line::Inlet;
use super::spdy::Tunnel;

/// A frame may be so long. Clients send what they read of their standard input in pieces of 32 KiB.
const FRAME_MAX: usize = 1 << 20;

/// Carries frames until the session or the client ends the connection.
pub(super) async fn carry(upgrade: OnUpgrade, protocol: &str, mut inlet: Inlet, mut guard: Guard) {
    // A client that leaves at this moment has hung up.
    let Ok(upgraded) = upgrade.await else { return };
    let config = WebSocketConfig::default().max_message_size(Some(FRAME_MAX)).max_frame_size(Some(FRAME_MAX));
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let mut tunnel = (protocol == SPDY).then(Tunnel::new);
    loop {
        let mut back = Vec::new();
        tokio::select! {
            sent = inlet.next() => match sent {
                Some(Sent::Frame(frame)) => back = tunnel.as_mut().map_or(frame.clone(), |tunnel| tunnel.say(&frame)),
                _ => {
                    guard.over();
                    // Whether it still listens is its own affair.
                    let _ = socket.close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() })).await;
                    return;
                }
            },
            message = socket.next() => match message {
                Some(Ok(message @ (Message::Binary(_) | Message::Text(_)))) => match &mut tunnel {
                    None => guard.data(message.into_data().into()),
                    Some(tunnel) => {
                        let Ok(heard) = tunnel.hear(&message.into_data()) else { return };
                        heard.frames.into_iter().for_each(|frame| guard.data(frame));
                        back = heard.back;
                    }
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
        }
        if !back.is_empty() && socket.send(Message::binary(back)).await.is_err() {
            return;
        }
    }
}
