//! What `#[tool]` expands to.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, GenericArgument, Ident, ItemFn, Lit, Meta, PathArguments, Result,
    ReturnType, Type,
};

use crate::options::{Options, check_name};

pub fn expand(options: &Options, function: &ItemFn) -> Result<TokenStream> {
    let signature = &function.sig;
    if let Some(asyncness) = signature.asyncness {
        return Err(Error::new(asyncness.span(), "a tool is an ordinary function: the contract is synchronous"));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new(signature.generics.span(), "a tool can't be generic"));
    }
    let ReturnType::Type(_, returns) = &signature.output else {
        return Err(Error::new(signature.span(), "a tool returns a Result, for example Result<String, ToolError>"));
    };

    let ident = &signature.ident;
    let vis = &function.vis;
    let (parameters, run) = call(function, returns)?;
    let definition = definition(options, function, parameters.as_ref(), returns)?;
    let prepare = options.prepare_arguments.as_ref().map(|path| {
        quote! {
            fn prepare_arguments(
                &self,
                args: &str,
            ) -> ::core::result::Result<::std::string::String, ::toolgate_sdk::ToolError> {
                ::toolgate_sdk::__private::prepare(args, #path)
            }
        }
    });
    let doc = format!("The tool [`{ident}`](fn@{ident}), for `plugin!`.");

    Ok(quote! {
        #function

        // An empty struct with braces: its name is a type's only, so the function keeps its own.
        #[doc = #doc]
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug)]
        #vis struct #ident {}

        impl ::toolgate_sdk::Tool for #ident {
            fn definition(&self) -> ::toolgate_sdk::Definition {
                #definition
            }

            #prepare

            fn execute(
                &self,
                cx: &::toolgate_sdk::ToolContext,
            ) -> ::core::result::Result<::toolgate_sdk::ToolResult, ::toolgate_sdk::ToolError> {
                #run
            }
        }
    })
}

/// The type of the arguments, where the function takes any, and the call of the function.
fn call(function: &ItemFn, returns: &Type) -> Result<(Option<Type>, TokenStream)> {
    let ident = &function.sig.ident;
    let mut arguments: Option<Type> = None;
    let mut context = false;
    let mut passed = Vec::new();
    for input in &function.sig.inputs {
        let FnArg::Typed(input) = input else {
            return Err(Error::new(input.span(), "a tool is a free function; for `self` implement the trait Tool"));
        };
        match input.ty.as_ref() {
            Type::Reference(_) if !context => {
                context = true;
                passed.push(quote!(cx));
            }
            ty if arguments.is_none() && !matches!(ty, Type::Reference(_)) => {
                arguments = Some(ty.clone());
                passed.push(quote_spanned!(ty.span()=> cx.parse_arguments::<#ty>()?));
            }
            ty => {
                return Err(Error::new(
                    ty.span(),
                    "a tool takes at most its arguments (one struct) and a &ToolContext",
                ));
            }
        }
    }
    let unused = if context || arguments.is_some() { quote!() } else { quote!(let _ = cx;) };
    // Where the function returns something else, the compiler points at what it returns.
    let returned = Ident::new("returned", returns.span());
    Ok((
        arguments,
        quote! {
            #unused
            let #returned = #ident(#(#passed),*);
            ::toolgate_sdk::__private::run(#returned)
        },
    ))
}

fn definition(options: &Options, function: &ItemFn, parameters: Option<&Type>, returns: &Type) -> Result<TokenStream> {
    let ident = &function.sig.ident;
    let name = match &options.name {
        Some(name) => name.value(),
        None => {
            let name = ident.to_string().trim_start_matches("r#").to_owned();
            check_name(&name, ident.span())?;
            name
        }
    };
    let description = match &options.description {
        Some(description) => quote!(#description),
        None => {
            let doc = doc_comment(&function.attrs);
            if doc.is_empty() {
                return Err(Error::new(
                    ident.span(),
                    "a tool needs a description for the model: a doc comment, or description = \"..\"",
                ));
            }
            quote!(#doc)
        }
    };

    let mut steps = Vec::new();
    if let Some(ty) = parameters {
        steps.push(quote_spanned!(ty.span()=> .parameters_of::<#ty>()));
    }
    match (&options.output, json_type(returns)) {
        (Some(ty), _) => steps.push(quote_spanned!(ty.span()=> .output_of::<#ty>())),
        (None, Some(ty)) => steps.push(quote_spanned!(ty.span()=> .implied_output_of::<#ty>())),
        (None, None) => {}
    }
    if let Some(label) = &options.label {
        steps.push(quote!(.label(#label)));
    }
    if options.sequential {
        steps.push(quote!(.sequential()));
    }
    for key in &options.exclusive {
        let pointer = &key.pointer;
        let access = if key.write { quote!(Write) } else { quote!(Read) };
        let method = if key.is_path { quote!(exclusive_path) } else { quote!(exclusive_value) };
        steps.push(quote!(.#method(#pointer, ::toolgate_sdk::Access::#access)));
    }
    if options.prepare_arguments.is_some() {
        steps.push(quote!(.prepares_arguments()));
    }
    let hints = [options.read_only, options.destructive, options.idempotent, options.open_world];
    if hints.iter().any(Option::is_some) {
        let [read_only, destructive, idempotent, open_world] = hints.map(|hint| match hint {
            Some(hint) => quote!(::core::option::Option::Some(#hint)),
            None => quote!(::core::option::Option::None),
        });
        steps.push(quote! {
            .hints(::toolgate_sdk::Hints {
                read_only: #read_only,
                destructive: #destructive,
                idempotent: #idempotent,
                open_world: #open_world,
            })
        });
    }
    Ok(quote!(::toolgate_sdk::Definition::new(#name, #description) #(#steps)*))
}

/// The `T` of `Result<Json<T>, _>`; not `Value`, whose schema says nothing.
fn json_type(returns: &Type) -> Option<Type> {
    let payload = first_argument(returns, "Result")?;
    let data = first_argument(&payload, "Json")?;
    match &data {
        Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == "Value") => None,
        _ => Some(data),
    }
}

fn first_argument(ty: &Type, name: &str) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty.clone()),
        _ => None,
    })
}

fn doc_comment(attrs: &[Attribute]) -> String {
    let lines: Vec<String> = attrs
        .iter()
        .filter_map(|attr| match &attr.meta {
            Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
                Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value()),
                _ => None,
            },
            _ => None,
        })
        .flat_map(|text| {
            text.split('\n')
                .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    lines.join("\n").trim().to_owned()
}
