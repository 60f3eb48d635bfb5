//! Schemas as the wire has them. `utoipa` describes what serde accepts; this document says what is sent: a field that
//! may be null is still there, fields of a flattened type stand beside the others, and nothing else is there.

use serde::Serialize;
use std::collections::BTreeSet;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOf, ArrayItems, Components, Object, Schema, SchemaType, Type,
};

const REFERENCE: &str = "\"#/components/schemas/";

/// Objects that may have other fields.
const OPEN: [&str; 9] = [
    "Message",
    "OverrideMessage",
    "ToolCallMessage",
    "AdditionalParameters",
    "ValidationConfig",
    "InlineRules",
    "InlineDataclean",
    "InlineGuardrails",
    "InlineCustomPolicies",
];

/// Shapes all schemas; `requests` are those that bodies of requests refer to.
pub(super) fn shape(components: &mut Components, requests: &BTreeSet<String>) {
    let names: Vec<String> = components.schemas.keys().cloned().collect();
    for name in &names {
        if let Some(whole) = unflattened(name, components) {
            components
                .schemas
                .insert(name.clone(), Schema::Object(whole).into());
        }
    }
    for (name, schema) in &mut components.schemas {
        tidy(schema);
        choose_any(schema);
        let (is_answer, is_open) = (!requests.contains(name), OPEN.contains(&name.as_str()));
        each_object(schema, &mut |object| {
            if is_answer {
                require_nullable(object);
            }
            if !is_open && !object.properties.is_empty() {
                object.additional_properties =
                    Some(Box::new(AdditionalProperties::FreeForm(false)));
            }
        });
    }
}

/// The schemas that a part of the document refers to, directly or through others.
pub(super) fn referred(part: &impl Serialize, components: &Components) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<String> = references(part);
    while let Some(name) = open.pop() {
        if let Some(schema) = components.schemas.get(&name)
            && found.insert(name)
        {
            open.extend(references(schema));
        }
    }
    found
}

fn references(part: &impl Serialize) -> Vec<String> {
    let json = serde_json::to_string(part).unwrap_or_default();
    let after = json.split(REFERENCE).skip(1);
    after
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .collect()
}

/// A schema of all of some types as one object, with the fields of each.
fn unflattened(name: &str, components: &Components) -> Option<Object> {
    let RefOr::T(Schema::AllOf(all)) = components.schemas.get(name)? else {
        return None;
    };
    let mut whole = Object::default();
    whole.description.clone_from(&all.description);
    for part in &all.items {
        let part = match part {
            RefOr::Ref(part) => {
                let name = part.ref_location.rsplit('/').next()?;
                match (unflattened(name, components), components.schemas.get(name)?) {
                    (Some(part), _) => part,
                    (None, RefOr::T(Schema::Object(part))) => part.clone(),
                    _ => return None,
                }
            }
            RefOr::T(Schema::Object(part)) => part.clone(),
            RefOr::T(_) => return None,
        };
        whole.required.extend(part.required);
        whole.properties.extend(part.properties);
    }
    Some(whole)
}

/// The alternatives of an enum exclude each other, so that any of them is one of them. Generators of Go need a library
/// for the latter.
fn choose_any(schema: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::OneOf(one)) = schema {
        let mut any = AnyOf::new();
        any.items = std::mem::take(&mut one.items);
        any.description = one.description.take();
        *schema = Schema::AnyOf(any).into();
    }
}

/// An answer has its nullable fields: null, not missing.
fn require_nullable(object: &mut Object) {
    let nullable = object
        .properties
        .iter()
        .filter(|(_, schema)| is_nullable(schema));
    for name in nullable.map(|(name, _)| name) {
        if !object.required.contains(name) {
            object.required.push(name.clone());
        }
    }
}

fn is_nullable(schema: &RefOr<Schema>) -> bool {
    let of_type = |kind: &SchemaType| match kind {
        SchemaType::Array(kinds) => kinds.contains(&Type::Null),
        SchemaType::Type(kind) => *kind == Type::Null,
        SchemaType::AnyValue => false,
    };
    match schema {
        RefOr::T(Schema::Object(object)) => of_type(&object.schema_type),
        RefOr::T(Schema::Array(array)) => of_type(&array.schema_type),
        RefOr::T(Schema::OneOf(one)) => one.items.iter().any(is_nullable),
        RefOr::T(_) | RefOr::Ref(_) => false,
    }
}

fn each_object(schema: &mut RefOr<Schema>, see: &mut impl FnMut(&mut Object)) {
    if let RefOr::T(Schema::Object(object)) = schema {
        see(object);
    }
    for inner in inner(schema) {
        each_object(inner, see);
    }
}

/// What a schema directly contains.
fn inner(schema: &mut RefOr<Schema>) -> Vec<&mut RefOr<Schema>> {
    match schema {
        RefOr::Ref(_) => Vec::new(),
        RefOr::T(Schema::Object(object)) => object.properties.values_mut().collect(),
        RefOr::T(Schema::Array(array)) => match &mut array.items {
            ArrayItems::RefOrSchema(items) => vec![items],
            ArrayItems::False => Vec::new(),
        },
        RefOr::T(Schema::OneOf(one)) => one.items.iter_mut().collect(),
        RefOr::T(Schema::AnyOf(any)) => any.items.iter_mut().collect(),
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().collect(),
        RefOr::T(_) => Vec::new(),
    }
}

/// Descriptions for readers of the document.
pub(super) fn tidy(schema: &mut RefOr<Schema>) {
    let description = match schema {
        RefOr::Ref(reference) => {
            reference.description = tidied(&reference.description);
            return;
        }
        RefOr::T(Schema::Object(object)) => &mut object.description,
        RefOr::T(Schema::Array(array)) => &mut array.description,
        RefOr::T(Schema::OneOf(one)) => &mut one.description,
        RefOr::T(Schema::AnyOf(any)) => &mut any.description,
        RefOr::T(Schema::AllOf(all)) => &mut all.description,
        RefOr::T(_) => return,
    };
    if let Some(text) = description {
        *text = tidied(text);
    }
    inner(schema).into_iter().for_each(tidy);
}

/// A doc comment as one paragraph, without its references to the specification, such as (§2.9) or (CONTRACT 37).
pub(super) fn tidied(comment: &str) -> String {
    let mut text = comment.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut at = 0;
    while let Some(start) = text
        .get(at..)
        .and_then(|rest| rest.find(" ("))
        .map(|step| at + step)
    {
        let Some(length) = text.get(start..).and_then(|rest| rest.find(')')) else {
            break;
        };
        let inside = text.get(start..start + length).unwrap_or_default();
        if inside.contains('§') || inside.contains("CONTRACT ") {
            text.replace_range(start..=start + length, "");
        } else {
            at = start + 1;
        }
    }
    text
}
