//! The options of `#[tool(..)]`.

use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, LitBool, LitStr, Path, Result, Token, Type, parenthesized};

/// One of the resources a call holds while it runs.
pub struct Exclusive {
    pub is_path: bool,
    pub pointer: LitStr,
    pub write: bool,
}

#[derive(Default)]
pub struct Options {
    pub name: Option<LitStr>,
    pub label: Option<Expr>,
    pub description: Option<Expr>,
    pub sequential: bool,
    pub exclusive: Vec<Exclusive>,
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
    pub output: Option<Type>,
    pub prepare_arguments: Option<Path>,
}

const KNOWN: &str = "name, label, description, execution_mode, exclusive, read_only, destructive, idempotent, \
                     open_world, output, prepare_arguments";

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            if seen.contains(&key) {
                return Err(Error::new(key.span(), format!("`{key}` is given twice")));
            }
            options.option(&key, input)?;
            seen.push(key);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl Options {
    fn option(&mut self, key: &Ident, input: ParseStream) -> Result<()> {
        match key.to_string().as_str() {
            "name" => self.name = Some(checked_name(value(input)?)?),
            "label" => self.label = Some(value(input)?),
            "description" => self.description = Some(value(input)?),
            "execution_mode" => {
                let mode: LitStr = value(input)?;
                self.sequential = match mode.value().as_str() {
                    "sequential" => true,
                    "parallel" => false,
                    _ => return Err(Error::new(mode.span(), "expected \"parallel\" or \"sequential\"")),
                };
            }
            "exclusive" => {
                let list;
                parenthesized!(list in input);
                self.exclusive = Punctuated::<Exclusive, Token![,]>::parse_terminated(&list)?.into_iter().collect();
            }
            "read_only" => self.read_only = Some(flag(input)?),
            "destructive" => self.destructive = Some(flag(input)?),
            "idempotent" => self.idempotent = Some(flag(input)?),
            "open_world" => self.open_world = Some(flag(input)?),
            "output" => self.output = Some(value(input)?),
            "prepare_arguments" => self.prepare_arguments = Some(value(input)?),
            _ => return Err(Error::new(key.span(), format!("no option `{key}`; there are {KNOWN}"))),
        }
        Ok(())
    }
}

impl Parse for Exclusive {
    fn parse(input: ParseStream) -> Result<Self> {
        let kind: Ident = input.parse()?;
        let is_path = match kind.to_string().as_str() {
            "path" => true,
            "value" => false,
            _ => {
                return Err(Error::new(kind.span(), "expected path(\"/pointer\", read) or value(\"/pointer\", write)"));
            }
        };
        let inner;
        parenthesized!(inner in input);
        let pointer: LitStr = inner.parse()?;
        if !pointer.value().is_empty() && !pointer.value().starts_with('/') {
            return Err(Error::new(pointer.span(), "a JSON pointer starts with `/`, for example \"/path\""));
        }
        inner.parse::<Token![,]>()?;
        let access: Ident = inner.parse()?;
        let write = match access.to_string().as_str() {
            "read" => false,
            "write" => true,
            _ => return Err(Error::new(access.span(), "expected read or write")),
        };
        if !inner.is_empty() {
            return Err(inner.error("unexpected"));
        }
        Ok(Self { is_path, pointer, write })
    }
}

fn value<T: Parse>(input: ParseStream) -> Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn flag(input: ParseStream) -> Result<bool> {
    if input.peek(Token![=]) { Ok(value::<LitBool>(input)?.value) } else { Ok(true) }
}

fn checked_name(name: LitStr) -> Result<LitStr> {
    check_name(&name.value(), name.span())?;
    Ok(name)
}

/// The contract's rule for names, told at compile time.
pub fn check_name(name: &str, span: Span) -> Result<()> {
    let fits =
        (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if fits { Ok(()) } else { Err(Error::new(span, "a tool's name is 1 to 64 of the characters A-Z a-z 0-9 _ -")) }
}
