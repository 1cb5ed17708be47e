//! `[[plugins.NAME.http]]` and `[[plugins.NAME.secrets]]`: as they are written, and what they mean.

use std::ffi::OsString;
use std::path::Path;

use super::cause;
use super::raw::list;
use super::read::{At, Node, Place, Source, Table};
use crate::files;
use crate::sandbox::http::HttpConfigError;
use crate::sandbox::{HttpGrant, HttpLimits, HttpPolicy, SecretGrant};

/// Largest file a secret is read from.
const MAX_SECRET_BYTES: u64 = 64 << 10;

#[derive(Default)]
pub(super) struct RawHttp {
    grants: Vec<RawGrant>,
    secrets: Vec<RawSecret>,
}

struct RawGrant {
    places: Places,
    host: Option<At<String>>,
    schemes: Option<Vec<At<String>>>,
    ports: Option<RawPorts>,
    methods: Option<Vec<At<String>>>,
    path: Option<At<String>>,
    private: bool,
}

enum RawPorts {
    Any,
    These(Vec<u16>),
}

struct RawSecret {
    places: Places,
    name: Option<At<String>>,
    env: Option<At<String>>,
    file: Option<At<String>>,
    hosts: Option<Vec<At<String>>>,
    header: Option<At<String>>,
    format: Option<At<String>>,
}

/// Where a table and its keys stand, for errors that are found when the values meet.
struct Places {
    table: Place,
    keys: Vec<(&'static str, Place)>,
}

impl Places {
    fn of(table: &mut Table<'_, '_>, keys: &[&'static str]) -> Self {
        let found = keys.iter().filter_map(|key| Some((*key, table.get(key)?.place)));
        Self { keys: found.collect(), table: table.place.clone() }
    }

    fn report(&self, source: &Source<'_>, error: &HttpConfigError) {
        let at = self.keys.iter().find(|(key, _)| *key == error.key).map_or(&self.table, |(_, place)| place);
        source.wrong(at, format!("{:?}: {}", error.value, error.problem), None);
    }
}

impl RawHttp {
    pub fn read(table: &mut Table<'_, '_>) -> Self {
        Self {
            grants: list(table.get("http"), "[[plugins.NAME.http]] tables", RawGrant::read),
            secrets: list(table.get("secrets"), "[[plugins.NAME.secrets]] tables", RawSecret::read),
        }
    }

    /// What these mean; values of secrets come from the operator's environment or from files below `base`.
    pub fn policy(
        &self,
        source: &Source<'_>,
        base: &Path,
        env: &dyn Fn(&str) -> Option<OsString>,
        limits: HttpLimits,
    ) -> HttpPolicy {
        let grants = self.grants.iter().filter_map(|raw| raw.grant(source));
        let secrets = self.secrets.iter().filter_map(|raw| {
            let value = raw.value(source, base, env)?;
            raw.grant(&value, source)
        });
        HttpPolicy::new(grants.collect(), secrets.collect(), limits)
    }
}

impl RawGrant {
    fn read(mut table: Table<'_, '_>) -> Self {
        let places = Places::of(&mut table, &["host", "schemes", "ports", "methods", "path"]);
        let host = table.need("host", "for example \"api.example.com\", \"*.example.com\" or an address");
        let strings = |node: Node<'_, '_>| node.strings().map(|all| all.value);
        let schemes = table.get("schemes").and_then(strings);
        let ports = table.get("ports").and_then(|node| RawPorts::read(&node));
        let methods = table.get("methods").and_then(strings);
        let path = table.get("path").and_then(|node| node.string());
        let private = table.get("private").and_then(|node| node.boolean()).unwrap_or(false);
        table.finish();
        Self { places, host: host.and_then(|node| node.string()), schemes, ports, methods, path, private }
    }

    fn grant(&self, source: &Source<'_>) -> Option<HttpGrant> {
        let mut good = self.host.is_some();
        let mut checked = |grant: Result<HttpGrant, HttpConfigError>| match grant {
            Ok(grant) => Some(grant),
            Err(error) => {
                self.places.report(source, &error);
                good = false;
                None
            }
        };
        // The other keys are checked whatever the host is.
        let host = self.host.as_ref().and_then(|host| checked(HttpGrant::new(host)));
        let mut grant = host.or_else(|| HttpGrant::new("example.com").ok())?.private(self.private);
        if let Some(schemes) = &self.schemes {
            grant = checked(grant.clone().schemes(schemes.iter().map(|scheme| scheme.as_str()))).unwrap_or(grant);
        }
        match &self.ports {
            Some(RawPorts::Any) => grant = grant.any_port(),
            Some(RawPorts::These(ports)) => {
                grant = checked(grant.clone().ports(ports.iter().copied())).unwrap_or(grant);
            }
            None => {}
        }
        if let Some(methods) = &self.methods {
            grant = checked(grant.clone().methods(methods.iter().map(|method| method.as_str()))).unwrap_or(grant);
        }
        if let Some(path) = &self.path {
            grant = checked(grant.clone().path(path)).unwrap_or(grant);
        }
        good.then_some(grant)
    }
}

impl RawPorts {
    fn read(node: &Node<'_, '_>) -> Option<Self> {
        if node.is_string() {
            return node.choice_or(&[("*", ())], Some("an array of ports")).map(|()| Self::Any);
        }
        let items = node.items("an array of ports, or \"*\" for all")?;
        let port = |node: &Node<'_, '_>| node.integer(1..=65_535).and_then(|port| u16::try_from(port).ok());
        let ports: Vec<u16> = items.iter().filter_map(port).collect();
        (ports.len() == items.len()).then_some(Self::These(ports))
    }
}

impl RawSecret {
    fn read(mut table: Table<'_, '_>) -> Self {
        let places = Places::of(&mut table, &["hosts", "header", "format"]);
        let name = table.need("name", "what the secret is called in messages");
        let env = table.get("env").and_then(|node| node.string());
        let file = table.get("file").and_then(|node| node.string());
        let hosts = table.need("hosts", "the hosts it is sent to, for example [\"api.example.com\"]");
        let header = table.get("header").and_then(|node| node.string());
        let format = table.get("format").and_then(|node| node.string());
        let literal = table.get_unlisted("value");
        if let Some(node) = &literal {
            node.wrong("a secret's value does not belong in this file", "`env`, the name of a variable, or `file`");
        } else if env.is_some() == file.is_some() {
            table.wrong("needs one of `env` and `file`: where the value comes from");
        }
        table.finish();
        let name = name.and_then(|node| node.string());
        let hosts = hosts.and_then(|node| node.strings()).map(|all| all.value);
        Self { places, name, env, file, hosts, header, format }
    }

    fn value(&self, source: &Source<'_>, base: &Path, env: &dyn Fn(&str) -> Option<OsString>) -> Option<String> {
        let wrong = |place: &Place, wrong: String, accepted: &str| {
            source.wrong(place, wrong, Some(accepted.into()));
            None
        };
        match (&self.env, &self.file) {
            (Some(name), None) => match env(&name.value).map(OsString::into_string) {
                Some(Ok(value)) => Some(value),
                Some(Err(_)) => {
                    wrong(&name.place, format!("the value of {} is not UTF-8", name.value), "a UTF-8 value")
                }
                None => wrong(
                    &name.place,
                    format!("{} is not set", name.value),
                    "a variable that is set where the host runs",
                ),
            },
            (None, Some(file)) => {
                let path = base.join(&file.value);
                match read_small(&path) {
                    // One line break at the end is the editor's, not the secret's.
                    Ok(text) => Some(text.strip_suffix('\n').map_or(&*text, |text| text.trim_end_matches('\r')).into()),
                    Err(error) => wrong(&file.place, format!("{:?}: {error}", file.value), "a text file of one line"),
                }
            }
            // Reported when it was read.
            _ => None,
        }
    }

    fn grant(&self, value: &str, source: &Source<'_>) -> Option<SecretGrant> {
        let hosts = self.hosts.as_ref()?.iter().map(|host| host.as_str());
        let grant = SecretGrant::new(self.name.as_ref()?, value, hosts).and_then(|grant| self.placed(grant));
        grant.map_err(|error| self.places.report(source, &error)).ok()
    }

    /// In the header it goes into.
    fn placed(&self, grant: SecretGrant) -> Result<SecretGrant, HttpConfigError> {
        match (&self.header, &self.format) {
            (None, None) => Ok(grant),
            (header, format) => {
                let header = header.as_ref().map_or("authorization", |header| header);
                // A header of one's own carries the bare value unless said otherwise.
                let plain = if header.eq_ignore_ascii_case("authorization") { "Bearer {}" } else { "{}" };
                grant.header(header, format.as_ref().map_or(plain, |format| format))
            }
        }
    }
}

/// A device or a large file is no secret.
fn read_small(path: &Path) -> Result<String, String> {
    files::read_text(path, MAX_SECRET_BYTES).map_err(|error| cause(&error))
}
