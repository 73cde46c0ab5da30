//! What the console says of itself: the description of its routes in the form of `OpenAPI` 3.1,
//! made from their table and from the types that they read and write.
//!
//! The schemas are those of `schemars`, whose derive follows the attributes of serde, so that they
//! say what is sent and not what somebody has written beside it; they are JSON Schema 2020-12,
//! which is what `OpenAPI` 3.1 uses.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::answer::FailedBody;
use super::route::{Gives, Route};

/// The description of the routes.
pub(super) fn openapi(routes: Vec<Route>) -> Value {
    let settings = || {
        SchemaSettings::draft2020_12().with(|it| {
            it.definitions_path = "/components/schemas".into();
            it.meta_schema = None;
        })
    };
    let mut sent = settings().for_serialize().into_generator();
    let mut read = settings().for_deserialize().into_generator();
    let mut paths = Map::new();
    for route in routes {
        let operation = operation(&route, &mut read, &mut sent);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation;
    }
    let failed = sent.subschema_for::<FailedBody>();
    let mut schemas = read.take_definitions(true);
    schemas.extend(sent.take_definitions(true));
    let mut said = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "gleaner",
            "summary": "Watches and steers a crawl that runs.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Failed": {
                    "description": "It failed, and nothing was changed unless the message says so.",
                    "content": {"application/json": {"schema": failed}},
                },
            },
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
            },
        },
    });
    say_null(&mut said);
    said
}

/// Comments of the code name what JSON has another word for.
fn say_null(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if name == "description" => {
                        *text = text.replace("`None`", "null");
                    }
                    other => say_null(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(say_null),
        _ => {}
    }
}

fn operation(route: &Route, read: &mut SchemaGenerator, sent: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = in_path(route.path)
        .map(|name| {
            let schema = match name {
                // Scheme, name and port, as it stands in the list of hosts.
                "host" => {
                    json!({"type": "string", "pattern": "^https?://[a-z0-9.-]+(:[0-9]{1,5})?$"})
                }
                "id" => json!({"type": "string", "pattern": "^[0-9]{1,18}$"}),
                _ => json!({"type": "string", "minLength": 1}),
            };
            json!({"name": name, "in": "path", "required": true, "schema": schema})
        })
        .collect();
    if let Some(query) = route.query {
        parameters.extend(in_query(query(read)));
    }
    let mut content = Map::new();
    match &route.gives {
        Gives::Json(schema) => {
            content.insert(
                "application/json".to_owned(),
                json!({"schema": schema(sent)}),
            );
        }
        Gives::Lines(types, schema) => {
            for (at, mime) in types.iter().enumerate() {
                // OpenAPI 3.1 has no schema for what is one line of many.
                let line = schema(sent);
                let said = json!({"schema": {"type": "string"}, "x-line": line});
                let said = if at == 0 {
                    said
                } else {
                    json!({"schema": {"type": "string"}})
                };
                content.insert((*mime).to_owned(), said);
            }
        }
        Gives::File(mime) => {
            content.insert((*mime).to_owned(), json!({}));
        }
    }
    let mut responses = json!({
        "200": {"description": route.about, "content": content},
        "4XX": {"$ref": "#/components/responses/Failed"},
        "5XX": {"$ref": "#/components/responses/Failed"},
    });
    if route.path == "/readyz" {
        let body = responses["200"]["content"].clone();
        responses["503"] = json!({"description": "It is not ready.", "content": body});
    }
    let mut said = json!({
        "operationId": name(route),
        "summary": route.about,
        "parameters": parameters,
        "responses": responses,
        // The token is needed if the console has one.
        "security": if route.needs.is_open { json!([]) } else { json!([{}, {"token": []}]) },
    });
    if let Some(body) = route.body {
        let schema = body(read);
        said["requestBody"] = json!({
            "required": true,
            "content": {"application/json": {"schema": schema}},
        });
    }
    said
}

/// The names that stand in braces.
fn in_path(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split('/');
    parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// The parameters of a query, from the schema of what it is read as.
fn in_query(schema: Schema) -> Vec<Value> {
    let mut schema = schema.to_value();
    let required: Vec<String> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect();
    let Some(Value::Object(properties)) = schema.get_mut("properties").map(Value::take) else {
        return Vec::new();
    };
    let parameters = properties.into_iter().map(|(name, mut schema)| {
        let about = match schema.as_object_mut() {
            Some(schema) => schema.remove("description"),
            None => None,
        };
        json!({
            "name": name,
            "in": "query",
            "required": required.contains(&name),
            "description": about,
            "schema": schema,
        })
    });
    parameters.collect()
}

/// The name of an operation: its method and path in words.
fn name(route: &Route) -> String {
    let path = match route.path {
        "/" => "page",
        "/api/v1" => "index",
        path => path.strip_prefix("/api/v1").unwrap_or(path),
    };
    let words = path.split(['/', '{', '}', '-', '.']);
    let words = words.filter(|it| !it.is_empty());
    let mut name = route.method.as_str().to_ascii_lowercase();
    for word in words {
        name.push('_');
        name.push_str(word);
    }
    name
}

#[cfg(test)]
mod tests;
