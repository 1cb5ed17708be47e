//! A component made of bytes: it exports the contract, and its code does nothing but hand out prepared answers. They are
//! laid out in its memory as the contract's types ask, and now and then not quite.

use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::abi::{AbiVariant, WasmType};
use wit_parser::{Int, Resolve, SizeAlign, Type, TypeDefKind, WorldId, WorldItem};

/// Where answers begin in memory, and how far they may reach.
const ANSWERS: usize = 16;
const END: usize = 128 << 10;
/// Longest list.
const MAX_ITEMS: usize = 3;

const STRINGS: [&str; 8] = ["text", "", "é", "image/png", "\u{1b}[31mred", "data:,", "a\nb", "/key"];
const JSONS: [&str; 8] =
    ["{}", "{\"a\":1e400}", "{\"a\":[1,null]}", "{}", "{\"b\":\"x\"}", "null", "[1,2]", "not json"];
/// More often right than not: each decides over a whole component.
const NAMES: [&str; 10] = ["one", "two", "three", "a-b_c", "X9", "tool", "echo", "read", "with space", "工具"];
const SCHEMAS: [&str; 8] = [
    "{\"type\":\"object\"}",
    "{}",
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}",
    "{\"type\":\"object\",\"additionalProperties\":false}",
    "true",
    "{\"type\":\"object\",\"required\":[\"a\"]}",
    "{\"type\":\"nonsense\"}",
    "{\"$ref\":\"#\"}",
];

/// Once in `many`; never where the bytes are used up.
fn rarely(bytes: &mut Unstructured<'_>, many: u32) -> Result<bool> {
    Ok(bytes.int_in_range(0..=many - 1)? == many - 1)
}

struct Contract {
    resolve: Resolve,
    world: WorldId,
    sizes: SizeAlign,
}

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let mut resolve = Resolve::default();
    let read = resolve.push_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../wit/plugin"));
    let (package, _) = read.unwrap_or_else(|error| panic!("{error:#}"));
    let world = resolve.select_world(&[package], Some("plugin")).unwrap_or_else(|error| panic!("{error:#}"));
    let mut sizes = SizeAlign::default();
    sizes.fill(&resolve);
    Contract { resolve, world, sizes }
});

/// The component.
pub(super) fn component(bytes: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let Contract { resolve, world, sizes } = &*CONTRACT;
    let mut memory = Memory { resolve, sizes, bytes: vec![0; ANSWERS] };
    let mut functions = String::new();
    for item in resolve.worlds[*world].exports.values() {
        let WorldItem::Interface { id, .. } = item else { continue };
        for function in resolve.interfaces[*id].functions.values() {
            let signature = resolve.wasm_signature(AbiVariant::GuestExport, function);
            let answer = match &function.result {
                Some(result) => memory.place(result, bytes)?,
                None => 0,
            };
            let types = |types: &[WasmType]| types.iter().map(|ty| word(*ty)).collect::<Vec<_>>().join(" ");
            let body = match signature.results.first() {
                None => String::new(),
                Some(_) if rarely(bytes, 60)? => "unreachable".to_owned(),
                Some(_) if rarely(bytes, 60)? => "(loop (br 0)) unreachable".to_owned(),
                Some(ty) => format!("({}.const {answer})", word(*ty)),
            };
            functions.push_str(&format!(
                "(func (export \"{}#{}\") (param {}) (result {}) {body})\n",
                resolve.id_of(*id).unwrap_or_default(),
                function.name,
                types(&signature.params),
                types(&signature.results),
            ));
        }
    }
    let data: String = memory.bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let text = format!(
        r#"(module
            (memory (export "memory") 4)
            (global $next (mut i32) (i32.const {END}))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (global.set $next (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
                (global.get $next)
                (global.set $next (i32.add (global.get $next) (local.get 3))))
            {functions}
            (data (i32.const 0) "{data}"))"#
    );
    let encoded = || -> std::result::Result<Vec<u8>, Box<dyn std::error::Error>> {
        let mut module = wat::parse_str(&text)?;
        embed_component_metadata(&mut module, resolve, *world, StringEncoding::UTF8)?;
        Ok(ComponentEncoder::default().module(&module)?.encode()?)
    };
    Ok(encoded().unwrap_or_else(|error| panic!("{error:?}")))
}

fn word(ty: WasmType) -> &'static str {
    match ty {
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
    }
}

struct Memory<'a> {
    resolve: &'a Resolve,
    sizes: &'a SizeAlign,
    bytes: Vec<u8>,
}

impl Memory<'_> {
    fn room(&mut self, size: usize) -> usize {
        let at = self.bytes.len().next_multiple_of(8);
        self.bytes.resize((at + size).min(END), 0);
        at
    }

    /// Puts a value of a type somewhere.
    fn place(&mut self, ty: &Type, from: &mut Unstructured<'_>) -> Result<usize> {
        let at = self.room(self.sizes.size(ty).size_wasm32());
        self.write(ty, at, "", from)?;
        Ok(at)
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// A word that says where or how much, or now and then anything.
    fn word(&mut self, at: usize, value: usize, from: &mut Unstructured<'_>) -> Result<()> {
        let value =
            if rarely(from, 300)? { from.arbitrary::<u32>()? } else { u32::try_from(value).unwrap_or(u32::MAX) };
        self.put(at, &value.to_le_bytes());
        Ok(())
    }

    fn text(&mut self, at: usize, field: &str, from: &mut Unstructured<'_>) -> Result<()> {
        let of: &[&str] = match field {
            "name" | "tools" => &NAMES,
            "parameters" | "output" => &SCHEMAS,
            "json" => &JSONS,
            _ => &STRINGS,
        };
        let text = match from.int_in_range(0..=99)? {
            98 => from.arbitrary::<&[u8]>()?.to_vec(),
            99 => "x".repeat(from.int_in_range(0..=5_000)?).into_bytes(),
            _ => from.choose(of)?.as_bytes().to_vec(),
        };
        let place = self.room(text.len());
        self.put(place, &text);
        self.word(at, place, from)?;
        self.word(at + 4, text.len(), from)
    }

    fn list(&mut self, item: &Type, at: usize, field: &str, from: &mut Unstructured<'_>) -> Result<()> {
        let (count, size) = (from.int_in_range(0..=MAX_ITEMS)?, self.sizes.size(item).size_wasm32());
        let place = self.room(size * count);
        for number in 0..count {
            self.write(item, place + size * number, field, from)?;
        }
        self.word(at, place, from)?;
        self.word(at + 4, count, from)
    }

    /// One of several cases: its number, and what comes with it.
    fn case(
        &mut self,
        tag: Int,
        cases: &[Option<&Type>],
        at: usize,
        field: &str,
        from: &mut Unstructured<'_>,
    ) -> Result<()> {
        let chosen = from.choose_index(cases.len())?;
        let number = if rarely(from, 300)? { from.arbitrary()? } else { u8::try_from(chosen).unwrap_or(u8::MAX) };
        self.put(at, &[number]);
        let Some(payload) = cases[chosen] else { return Ok(()) };
        let offset = self.sizes.payload_offset(tag, cases.iter().copied()).size_wasm32();
        self.write(payload, at + offset, field, from)
    }

    fn write(&mut self, ty: &Type, at: usize, field: &str, from: &mut Unstructured<'_>) -> Result<()> {
        let mut put = |bytes: &[u8]| {
            self.put(at, bytes);
            Ok(())
        };
        let id = match ty {
            Type::Bool => return put(&[from.int_in_range(0..=1)?]),
            Type::U8 | Type::S8 => return put(&[from.arbitrary()?]),
            Type::U16 | Type::S16 => return put(&from.arbitrary::<[u8; 2]>()?),
            Type::U32 | Type::S32 | Type::F32 | Type::Char => return put(&from.arbitrary::<[u8; 4]>()?),
            Type::U64 | Type::S64 | Type::F64 => return put(&from.arbitrary::<[u8; 8]>()?),
            Type::String => return self.text(at, field, from),
            Type::ErrorContext => return Ok(()),
            Type::Id(id) => *id,
        };
        let resolve = self.resolve;
        match &resolve.types[id].kind {
            TypeDefKind::Record(record) => {
                let offsets = self.sizes.field_offsets(record.fields.iter().map(|field| &field.ty));
                for ((offset, ty), field) in offsets.into_iter().zip(&record.fields) {
                    self.write(ty, at + offset.size_wasm32(), &field.name, from)?;
                }
                Ok(())
            }
            TypeDefKind::Tuple(tuple) => {
                for (offset, ty) in self.sizes.field_offsets(tuple.types.iter()) {
                    self.write(ty, at + offset.size_wasm32(), field, from)?;
                }
                Ok(())
            }
            TypeDefKind::Variant(variant) => {
                let cases: Vec<_> = variant.cases.iter().map(|case| case.ty.as_ref()).collect();
                self.case(variant.tag(), &cases, at, field, from)
            }
            TypeDefKind::Enum(names) => self.case(names.tag(), &vec![None; names.cases.len()], at, field, from),
            TypeDefKind::Option(some) => self.case(Int::U8, &[None, Some(some)], at, field, from),
            TypeDefKind::Result(result) => {
                self.case(Int::U8, &[result.ok.as_ref(), result.err.as_ref()], at, field, from)
            }
            TypeDefKind::List(item) => self.list(item, at, field, from),
            TypeDefKind::Type(ty) => {
                let is_json = resolve.types[id].name.as_deref() == Some("json");
                let field = if is_json && !matches!(field, "parameters" | "output") { "json" } else { field };
                self.write(ty, at, field, from)
            }
            other => unreachable!("the contract has a {}", other.as_str()),
        }
    }
}
