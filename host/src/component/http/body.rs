//! A response's body on its way to the guest: bounded in bytes and in the time between them.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};
use wasmtime_wasi_http::Error;

use super::{Exchange, Time, redact};

pub(super) struct ResponseBody {
    incoming: Incoming,
    between_bytes: Time,
    /// Runs only while someone waits for a frame: time the guest spends elsewhere is not the server's.
    waiting: Option<Pin<Box<Sleep>>>,
    left: u64,
    ended: bool,
    exchange: Exchange,
}

impl ResponseBody {
    pub(super) fn new(incoming: Incoming, between_bytes: Time, exchange: Exchange) -> Self {
        let left = exchange.policy.limits().response_bytes;
        Self { incoming, between_bytes, waiting: None, left, ended: false, exchange }
    }

    fn take(&mut self, mut frame: Frame<Bytes>) -> Result<Frame<Bytes>, Error> {
        if let Some(data) = frame.data_ref() {
            let size = u64::try_from(data.len()).unwrap_or(u64::MAX);
            let most = self.exchange.policy.limits().response_bytes;
            self.left = self.left.checked_sub(size).ok_or_else(|| {
                let rule = format!("the response is larger than limits.http-response-bytes = {most}; raise it");
                (self.exchange.deny)(self.exchange.permit.denied(rule));
                Error::HttpResponseBodySize(Some(most))
            })?;
        } else if let Some(trailers) = frame.trailers_mut() {
            redact(&self.exchange.policy, trailers);
        }
        Ok(frame)
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        if this.ended {
            return Poll::Ready(None);
        }
        let result = match Pin::new(&mut this.incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => this.take(frame),
            Poll::Ready(Some(Err(error))) => Err(this.exchange.hyper_error(&error)),
            Poll::Ready(None) => {
                this.ended = true;
                return Poll::Ready(None);
            }
            Poll::Pending => {
                let timer = this.waiting.get_or_insert_with(|| Box::pin(sleep(this.between_bytes.most)));
                match timer.as_mut().poll(cx) {
                    Poll::Ready(()) => {
                        this.exchange.too_slow(this.between_bytes);
                        Err(Error::ConnectionReadTimeout)
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        };
        this.waiting = None;
        this.ended = result.is_err();
        Poll::Ready(Some(result))
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
