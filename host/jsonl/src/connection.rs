//! One client: what it said of itself, its batches in flight, and what becomes of each line it sends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use toolgate::Host;
use toolgate::model::is_name;
use toolgate::pipeline::{BatchInfo, DEFAULT_CONVERSATION, HookEvent};
use toolgate::registry::Update;

use crate::ask::{Asking, Asks, NoAnswer};
use crate::outbox::{Closed, Outbox};
use crate::wire::{
    Cancel, Cancelled, Capabilities, Code, Empty, EndConversation, EndTurn, Hello, Id, Incoming, Limits, Offer,
    PROTOCOL, PartialUpdate, Party, Refusal, Response, Run, ServerCapabilities, Tool, Tools, Welcome,
};
use crate::{Settings, batch, client};

/// Tells the batches of all connections of a process apart.
static BATCHES: AtomicU64 = AtomicU64::new(0);

/// What a request may be called with, for who spells one wrong.
const METHODS: [&str; 8] = ["hello", "tools", "run", "cancel", "end_turn", "end_conversation", "offer", "update"];

/// One client.
pub(crate) struct Connection {
    pub host: Host,
    pub settings: Settings,
    pub outbox: Arc<Outbox>,
    asks: Arc<Asks>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    capabilities: Option<Capabilities>,
    /// By the client's name of the request.
    batches: HashMap<Id, InFlight>,
    /// The client's names of its batches by ours.
    by_tag: HashMap<Arc<str>, Id>,
    offered: Option<String>,
}

struct InFlight {
    tag: Arc<str>,
    cancel: CancellationToken,
}

impl Connection {
    pub(crate) fn new(host: Host, settings: Settings, outbox: Outbox) -> Arc<Self> {
        let (outbox, asks, state) = (Arc::new(outbox), Arc::default(), Mutex::default());
        Arc::new(Self { host, settings, outbox, asks, state })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the client wants; the defaults before it has said so.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.state().capabilities.unwrap_or_default()
    }

    /// The client's name of a batch, where it is one of its batches.
    pub(crate) fn batch(&self, info: &BatchInfo) -> Option<Id> {
        self.state().by_tag.get(info.tag.as_ref()?).cloned()
    }

    /// A batch is over.
    pub(crate) fn over(&self, id: &Id) {
        let mut state = self.state();
        if let Some(batch) = state.batches.remove(id) {
            state.by_tag.remove(&batch.tag);
        }
    }

    /// Cancels all batches.
    pub(crate) fn cancel_all(&self) {
        for batch in self.state().batches.values() {
            batch.cancel.cancel();
        }
    }

    /// The client sends nothing any more.
    pub(crate) fn deaf(&self) {
        self.asks.close();
    }

    /// Takes back what the client offered.
    pub(crate) fn withdraw(&self) {
        let offered = self.state().offered.take();
        if let Some(Err(error)) = offered.map(|name| self.host.unload(&name)) {
            tracing::debug!(%error, "what a client offered is gone already");
        }
    }

    /// Sends a request to the client.
    pub(crate) async fn ask(&self, method: &'static str, params: impl Serialize) -> Result<Asking, NoAnswer> {
        self.asks.ask(&self.outbox, method, params).await
    }

    /// Refuses something that cannot be told to which request it belongs.
    pub(crate) async fn refuse(&self, refusal: Refusal) -> Result<(), Closed> {
        self.outbox.send(&Response::<Empty>::new(None, Err(refusal))).await
    }

    /// Takes one line.
    pub(crate) async fn line(self: &Arc<Self>, line: &[u8], running: &mut JoinSet<()>) -> Result<(), Closed> {
        let invalid = |code, why: String| self.refuse(Refusal::new(code, why));
        let text = match std::str::from_utf8(line) {
            Ok(text) => text.trim(),
            Err(error) => return invalid(Code::Parse, format!("not UTF-8: {error}")).await,
        };
        if text.is_empty() {
            return Ok(());
        }
        let incoming = match serde_json::from_str::<Incoming<'_>>(text) {
            Ok(incoming) if text.starts_with('{') => incoming,
            Ok(_) => {
                return invalid(Code::InvalidRequest, "a message is one JSON object in one line".into()).await;
            }
            Err(error) if error.is_data() => {
                return invalid(Code::InvalidRequest, format!("not a JSON-RPC message: {error}")).await;
            }
            Err(error) => return invalid(Code::Parse, format!("not JSON: {error}")).await,
        };
        if incoming.jsonrpc.as_deref() != Some("2.0") {
            let why = r#"not a JSON-RPC message: it needs "jsonrpc": "2.0""#;
            return invalid(Code::InvalidRequest, why.into()).await;
        }
        let Incoming { id, method, params, result, error, .. } = incoming;
        match (method, id) {
            (Some(method), Some(raw)) => match Id::read(raw) {
                Some(id) => self.request(id, &method, params, running).await,
                None => invalid(Code::InvalidRequest, "an id is a string or a whole number".into()).await,
            },
            (Some(method), None) => {
                self.notification(&method, params);
                Ok(())
            }
            (None, Some(id)) => {
                if !self.asks.answered(id, result, error) {
                    tracing::debug!(id = id.get(), "an answer that nobody waits for");
                }
                Ok(())
            }
            (None, None) => {
                let why = "neither a request (`method`) nor an answer (`id` and `result` or `error`)";
                invalid(Code::InvalidRequest, why.into()).await
            }
        }
    }

    async fn request(
        self: &Arc<Self>,
        id: Id,
        method: &str,
        params: Option<&RawValue>,
        running: &mut JoinSet<()>,
    ) -> Result<(), Closed> {
        if method != "hello" && self.state().capabilities.is_none() {
            let refusal = Refusal::new(Code::NoHello, "the first request is `hello`");
            return self.answer::<Empty>(&id, Err(refusal)).await;
        }
        match method {
            "hello" => self.answer(&id, read(params).and_then(|hello| self.hello(hello))).await,
            "tools" => match read::<Nothing>(params) {
                Ok(Nothing {}) if self.host.loading().is_over() => self.tools(&id).await,
                // In flight like a batch: counted, and ended with it.
                Ok(Nothing {}) => match self.begin(&id) {
                    Ok((_, cancel)) => {
                        running.spawn(self.clone().tools_later(id, cancel));
                        Ok(())
                    }
                    Err(refusal) => self.answer::<Empty>(&id, Err(refusal)).await,
                },
                Err(refusal) => self.answer::<Empty>(&id, Err(refusal)).await,
            },
            "run" => match read::<Run<'_>>(params).and_then(batch::read).and_then(|batch| {
                let (tag, cancel) = self.begin(&id)?;
                Ok((batch, tag, cancel))
            }) {
                Ok((batch, tag, cancel)) => {
                    running.spawn(batch::run(self.clone(), id, batch, tag, cancel));
                    Ok(())
                }
                Err(refusal) => self.answer::<Empty>(&id, Err(refusal)).await,
            },
            "cancel" => {
                let found = read(params).map(|Cancel { batch }| Cancelled { found: self.cancel(&batch) });
                self.answer(&id, found).await
            }
            "end_turn" => {
                let ended = read(params).map(|EndTurn { turn, conversation }| {
                    self.host.state().end_turn(conversation.as_deref().unwrap_or(DEFAULT_CONVERSATION), &turn);
                    Empty {}
                });
                self.answer(&id, ended).await
            }
            "end_conversation" => {
                let ended = read(params).map(|EndConversation { conversation }| {
                    self.host.state().end_conversation(conversation.as_deref().unwrap_or(DEFAULT_CONVERSATION));
                    Empty {}
                });
                self.answer(&id, ended).await
            }
            "offer" => {
                // What toolgate.toml lists takes its names first. Nothing else is read meanwhile: a batch that follows
                // counts on the client's hooks.
                self.host.all_loaded().await;
                self.answer(&id, read(params).and_then(|offer| self.offer(offer))).await
            }
            other => {
                let why = format!("there is no method {other:?}; there are: {}", METHODS.join(", "));
                self.answer::<Empty>(&id, Err(Refusal::new(Code::UnknownMethod, why))).await
            }
        }
    }

    async fn tools(&self, id: &Id) -> Result<(), Closed> {
        let tools = self.host.tools();
        let list = tools.tools().map(|tool| {
            let (plugin, active) = (&**tool.plugin(), tool.is_initially_active());
            Tool { plugin, active, definition: tool.definition() }
        });
        self.answer(id, Ok(Tools { tools: list.collect() })).await
    }

    /// The same once plugins that are still being loaded are there, as far as a client may be kept waiting.
    async fn tools_later(self: Arc<Self>, id: Id, cancel: CancellationToken) {
        tokio::select! {
            () = self.host.listable() => {}
            () = cancel.cancelled() => {}
        }
        self.over(&id);
        // Where the client is gone there is nobody to tell.
        let _ = self.tools(&id).await;
    }

    async fn answer<T: Serialize>(&self, id: &Id, answer: Result<T, Refusal>) -> Result<(), Closed> {
        self.outbox.send(&Response::new(Some(id), answer)).await
    }

    /// Nobody waits for an answer to one; what is wrong with it is logged.
    fn notification(&self, method: &str, params: Option<&RawValue>) {
        let problem = match method {
            "update" => read(params).map(|PartialUpdate { request, partial_result }| {
                self.asks.updated(&request, partial_result);
            }),
            "cancel" => read(params).map(|Cancel { batch }| {
                self.cancel(&batch);
            }),
            other => Err(Refusal::new(Code::UnknownMethod, format!("{other:?} is no notification"))),
        };
        if let Err(refusal) = problem {
            tracing::warn!(method, ?refusal, "a notification of the client's was ignored");
        }
    }

    fn hello(&self, hello: Hello) -> Result<Welcome, Refusal> {
        if hello.protocol != PROTOCOL {
            let why = format!("protocol version {} is not spoken here; version {PROTOCOL} is", hello.protocol);
            return Err(Refusal::new(Code::Version, why).with(json!({ "supported": [PROTOCOL] })));
        }
        let mut state = self.state();
        if state.capabilities.is_some() {
            return Err(Refusal::new(Code::InvalidRequest, "hello was said already"));
        }
        state.capabilities = Some(hello.capabilities);
        let Party { name, version } = hello.client;
        tracing::info!(name, version, "a client said hello");
        Ok(Welcome {
            protocol: PROTOCOL,
            server: Party { name: "toolgate".into(), version: env!("CARGO_PKG_VERSION").into() },
            capabilities: ServerCapabilities { hooks: [HookEvent::BeforeToolCall, HookEvent::AfterToolCall] },
            limits: Limits {
                line_bytes: self.settings.line_bytes,
                batches: self.settings.batches,
                hook_timeout_ms: u64::try_from(self.settings.hook_timeout.as_millis()).unwrap_or(u64::MAX),
            },
        })
    }

    /// Finds a place for a batch.
    fn begin(&self, id: &Id) -> Result<(Arc<str>, CancellationToken), Refusal> {
        let mut state = self.state();
        if state.batches.contains_key(id) {
            return Err(Refusal::new(Code::InvalidRequest, "a batch with this id is in flight; ids are to be unique"));
        }
        let most = self.settings.batches;
        if state.batches.len() >= most {
            let why = format!("{most} batches are in flight, which is the most; wait for one to end");
            return Err(Refusal::new(Code::Busy, why));
        }
        let tag: Arc<str> = format!("jsonl-{}", BATCHES.fetch_add(1, Ordering::Relaxed)).into();
        let cancel = CancellationToken::new();
        state.by_tag.insert(tag.clone(), id.clone());
        state.batches.insert(id.clone(), InFlight { tag: tag.clone(), cancel: cancel.clone() });
        Ok((tag, cancel))
    }

    fn cancel(&self, batch: &Id) -> bool {
        let state = self.state();
        let found = state.batches.get(batch);
        found.inspect(|batch| batch.cancel.cancel()).is_some()
    }

    /// Puts the client's tools and hooks among the host's; a later offer takes the place of an earlier one.
    fn offer(self: &Arc<Self>, offer: Offer) -> Result<Empty, Refusal> {
        if let Some(event) = offer.hooks.iter().find(|event| **event == HookEvent::Settled) {
            let why = format!("hooks: {:?} is not offered; the end event says the same", event.as_str());
            return Err(Refusal::new(Code::InvalidParams, why));
        }
        let name = offer.name.clone();
        if !is_name(&name) {
            let why = "name: a plugin is called by 1 to 64 of A-Z a-z 0-9 _ -";
            return Err(Refusal::new(Code::Offer, why));
        }
        let earlier = self.state().offered.clone();
        let refused = |why: String| Refusal::new(Code::Offer, why);
        if earlier.as_ref() != Some(&name) && self.host.tools().plugins().any(|plugin| **plugin == *name) {
            return Err(refused(format!("plugin {name:?} is loaded already; offer under another name")));
        }
        let mut update = Update::new().load(client::plugin(offer, self));
        if let Some(earlier) = earlier.filter(|earlier| *earlier != name) {
            update = update.unload(earlier);
        }
        self.host.update(update).map_err(|error| refused(error.to_string()))?;
        self.state().offered = Some(name);
        Ok(Empty {})
    }
}

/// The parameters of a method that has none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn read<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, Refusal> {
    let text = params.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| Refusal::new(Code::InvalidParams, format!("params: {error}")))
}
