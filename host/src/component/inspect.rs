//! What a component file says without being run: exports, imports, contract version, least memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, Encoding, Instance, Operator,
    Parser, Payload,
};

use super::cache::sha256_hex;
use super::limiter::MAX_INSTANCES;

/// The contract's package name.
const CONTRACT: &str = "toolgate:plugin";
/// The contract version this host speaks.
pub const CONTRACT_VERSION: &str = "0.1.0";
/// Functions of all modules together. The largest language runtime has 30 000; each costs the compiler about 6 KiB.
const MAX_FUNCTIONS: u64 = 100_000;
/// Bytes of one function's code. An interpreter's main loop has 200 KiB; the compiler's time grows faster than the size.
const MAX_FUNCTION_BYTES: usize = 1 << 20;
/// Bytes of all functions' code together. The largest language runtime has 20 MiB.
const MAX_CODE_BYTES: usize = 64 << 20;
/// Blocks within blocks in one function: a `switch` nests one for each of its cases. The compiler's time grows with the
/// square.
const MAX_BLOCKS: usize = 10_000;
/// Nesting of components that is looked into.
const MAX_NESTING: usize = 32;

/// A file's own account of itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ComponentInfo {
    /// Bytes of the file.
    pub size: usize,
    /// SHA-256 of the file, for a pin.
    pub sha256: String,
    /// Names of what it imports.
    pub imports: Vec<String>,
    /// Names of what it exports.
    pub exports: Vec<String>,
    /// It exports `toolgate:plugin/tools`.
    pub tools: bool,
    /// It exports `toolgate:plugin/hooks`.
    pub hooks: bool,
    /// The contract version it was built for.
    pub contract: Option<String>,
    /// Bytes of linear memory it needs before it does anything.
    pub minimum_memory_bytes: u64,
    /// Core instances it makes: modules, counted as often as they are instantiated.
    pub core_instances: u64,
    /// Who made it: languages and tools with their versions, as the file says.
    pub producers: BTreeMap<String, Vec<String>>,
}

/// Why a file is no plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// Nothing in it.
    #[error("the file is empty; was the build interrupted?")]
    Empty,
    /// WebAssembly text.
    #[error("the file is text, not a component; a .wat file is turned into one by `wasm-tools parse`")]
    Text,
    /// Something else.
    #[error("the file is not WebAssembly: it does not begin with \\0asm")]
    NotWasm,
    /// A core module.
    #[error(
        "the file is a core WebAssembly module, not a component; build for wasm32-wasip2, or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// Cut or damaged.
    #[error("the file is damaged or cut off: {0}")]
    Malformed(String),
    /// A component of another world.
    #[error(
        "the component exports neither toolgate:plugin/tools nor toolgate:plugin/hooks; build it with the Toolgate SDK or for a world of toolgate:plugin@{CONTRACT_VERSION}. It exports: {0}"
    )]
    NoExports(String),
    /// It would make more instances than a slot holds; nested components multiply.
    #[error("the component instantiates {0} core modules, more than {MAX_INSTANCES}; link it into fewer")]
    Instances(u64),
    /// Code that would keep the compiler for minutes.
    #[error("the component is not compiled: {0}")]
    Code(String),
    /// A contract this host does not speak.
    #[error(
        "the component was built for toolgate:plugin@{found}, this host speaks toolgate:plugin@{CONTRACT_VERSION}; rebuild it with a matching SDK or use another host version"
    )]
    Version {
        /// What the file says.
        found: String,
    },
}

/// Looks at a file without running it. Also refuses what is no plugin of this contract version.
pub fn inspect(bytes: &[u8]) -> Result<ComponentInfo, InspectError> {
    let info = read(bytes)?;
    let names = || info.imports.iter().chain(&info.exports);
    for name in names() {
        if let Some(version) = contract_version(name)
            && !compatible(version)
        {
            return Err(InspectError::Version { found: clip(version) });
        }
    }
    if info.core_instances > u64::from(MAX_INSTANCES) {
        return Err(InspectError::Instances(info.core_instances));
    }
    if !info.tools && !info.hooks {
        let exports = info.exports.iter().take(8).map(|e| clip(e)).collect::<Vec<_>>().join(", ");
        return Err(InspectError::NoExports(if exports.is_empty() { "nothing".into() } else { exports }));
    }
    Ok(info)
}

/// Names come from the file: not longer than a line, and no lines or escapes of their own.
fn clip(name: &str) -> String {
    name.chars().take(100).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn contract_version(name: &str) -> Option<&str> {
    let (package, rest) = name.split_once('/')?;
    if package != CONTRACT && package != "toolgate:plugin-io" {
        return None;
    }
    Some(rest.split_once('@').map_or("unversioned", |(_, version)| version))
}

/// Before 1.0 a minor version is a contract of its own.
fn compatible(found: &str) -> bool {
    let (Ok(found), Ok(ours)) = (semver::Version::parse(found), semver::Version::parse(CONTRACT_VERSION)) else {
        return false;
    };
    found.major == ours.major && (ours.major > 0 || found.minor == ours.minor) && found <= ours
}

fn read(bytes: &[u8]) -> Result<ComponentInfo, InspectError> {
    match bytes {
        [] => return Err(InspectError::Empty),
        _ if bytes.starts_with(b"\0asm") => {}
        _ if bytes.iter().take(512).all(|b| !b.is_ascii_control() || b.is_ascii_whitespace()) => {
            return Err(InspectError::Text);
        }
        _ => return Err(InspectError::NotWasm),
    }
    let mut info = ComponentInfo { size: bytes.len(), sha256: sha256_hex(bytes), ..ComponentInfo::default() };
    let malformed = |error: wasmparser::BinaryReaderError| InspectError::Malformed(error.to_string());
    // One level per component; each counts the minimum memory of its modules and how often it instantiates them.
    let mut levels: Vec<Level> = Vec::new();
    let mut depth = 0usize;
    let mut functions = 0u64;
    let mut code = 0usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(malformed)? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => return Err(InspectError::CoreModule),
            Payload::Version { encoding, .. } => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Err(InspectError::Malformed(format!("components nested deeper than {MAX_NESTING}")));
                }
                levels.push(Level { module: encoding == Encoding::Module, ..Level::default() });
            }
            Payload::End(_) => {
                depth = depth.saturating_sub(1);
                let Some(done) = levels.pop() else { continue };
                match levels.last_mut() {
                    Some(outer) if done.module => outer.modules.push(Needs { instances: 1, memory: done.needs.memory }),
                    Some(outer) => outer.components.push(done.needs),
                    None => {
                        info.minimum_memory_bytes = done.needs.memory;
                        info.core_instances = done.needs.instances;
                    }
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory = memory.map_err(malformed)?;
                    let page = 1u64.checked_shl(memory.page_size_log2.unwrap_or(16)).unwrap_or(u64::MAX);
                    if let Some(level) = levels.last_mut() {
                        level.needs.memory = level.needs.memory.saturating_add(memory.initial.saturating_mul(page));
                    }
                }
            }
            Payload::InstanceSection(section) => {
                for instance in section {
                    if let (Instance::Instantiate { module_index, .. }, Some(level)) =
                        (instance.map_err(malformed)?, levels.last_mut())
                    {
                        level.needs = level.needs.plus(found(&level.modules, module_index));
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section {
                    if let (ComponentInstance::Instantiate { component_index, .. }, Some(level)) =
                        (instance.map_err(malformed)?, levels.last_mut())
                    {
                        level.needs = level.needs.plus(found(&level.components, component_index));
                    }
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    let (needs, is_module) = match alias.map_err(malformed)? {
                        ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, count, index } => {
                            (outer(&levels, count).map(|level| found(&level.modules, index)), true)
                        }
                        ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                            (outer(&levels, count).map(|level| found(&level.components, index)), false)
                        }
                        _ => continue,
                    };
                    if let (Some(needs), Some(level)) = (needs, levels.last_mut()) {
                        if is_module { level.modules.push(needs) } else { level.components.push(needs) }
                    }
                }
            }
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    info.imports.push(import.map_err(malformed)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    let export = export.map_err(malformed)?;
                    let name = export.name.name;
                    if export.kind == ComponentExternalKind::Instance
                        && let Some(version) = contract_version(name)
                    {
                        info.tools |= name.starts_with("toolgate:plugin/tools@");
                        info.hooks |= name.starts_with("toolgate:plugin/hooks@");
                        info.contract = Some(clip(version));
                    }
                    info.exports.push(name.to_owned());
                }
            }
            Payload::CodeSectionEntry(body) => {
                functions += 1;
                if functions > MAX_FUNCTIONS {
                    return Err(InspectError::Code(format!("it has more than {MAX_FUNCTIONS} functions")));
                }
                code = code.saturating_add(body.range().len());
                if code > MAX_CODE_BYTES {
                    return Err(InspectError::Code(format!("its functions have more than {MAX_CODE_BYTES} bytes")));
                }
                if body.range().len() > MAX_FUNCTION_BYTES {
                    return Err(InspectError::Code(format!("a function has more than {MAX_FUNCTION_BYTES} bytes")));
                }
            }
            Payload::CustomSection(section) => {
                if let wasmparser::KnownCustom::Producers(fields) = section.as_known() {
                    note_producers(&mut info.producers, fields);
                }
            }
            _ => {}
        }
    }
    Ok(info)
}

/// What an instance of a module or a component takes.
#[derive(Clone, Copy, Default)]
struct Needs {
    instances: u64,
    memory: u64,
}

impl Needs {
    fn plus(self, other: Self) -> Self {
        Self {
            instances: self.instances.saturating_add(other.instances),
            memory: self.memory.saturating_add(other.memory),
        }
    }
}

/// What only matters before compiling, since it reads all code: blocks nested deeper than any compiler of a real
/// language nests them.
pub fn check_code(bytes: &[u8]) -> Result<(), InspectError> {
    for payload in Parser::new(0).parse_all(bytes) {
        let malformed = |error: wasmparser::BinaryReaderError| InspectError::Malformed(error.to_string());
        let Payload::CodeSectionEntry(body) = payload.map_err(malformed)? else { continue };
        let mut nesting = 0usize;
        let mut operators = body.get_operators_reader().map_err(malformed)?;
        while !operators.eof() {
            match operators.read().map_err(malformed)? {
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                    nesting += 1;
                }
                Operator::End => nesting = nesting.saturating_sub(1),
                _ => {}
            }
            if nesting > MAX_BLOCKS {
                return Err(InspectError::Code(format!("a function nests more than {MAX_BLOCKS} blocks")));
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct Level {
    module: bool,
    needs: Needs,
    modules: Vec<Needs>,
    components: Vec<Needs>,
}

/// What an index stands for. Where it stands for something that came through an instance, the most that is known: the
/// engine counts again.
fn found(known: &[Needs], index: u32) -> Needs {
    known.get(index as usize).copied().unwrap_or_else(|| {
        let most = |of: fn(&Needs) -> u64| known.iter().map(of).max().unwrap_or(0);
        Needs { instances: most(|needs| needs.instances), memory: most(|needs| needs.memory) }
    })
}

fn outer(levels: &[Level], count: u32) -> Option<&Level> {
    levels.len().checked_sub(1)?.checked_sub(count as usize).and_then(|at| levels.get(at))
}

/// A remark by whoever built the file: what cannot be read of it is left out.
fn note_producers(into: &mut BTreeMap<String, Vec<String>>, fields: wasmparser::ProducersSectionReader<'_>) {
    for field in fields.into_iter().flatten().take(8) {
        let known = into.entry(clip(field.name)).or_default();
        for value in field.values.into_iter().flatten().take(16) {
            let text = clip(&format!("{} {}", value.name, value.version));
            if !known.contains(&text) && known.len() < 64 {
                known.push(text);
            }
        }
    }
}
