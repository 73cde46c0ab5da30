//! A route: its method and path, what it needs, and the types of what it is asked and answers.

use axum::http::Method;
use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::Shared;
use super::guard::Needs;

/// A route.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// One sentence.
    pub(super) about: &'static str,
    pub(super) needs: Needs,
    /// What it is asked in the query.
    pub(super) query: Option<Makes>,
    /// What it is sent.
    pub(super) body: Option<Makes>,
    /// What it answers.
    pub(super) gives: Gives,
    pub(super) serve: MethodRouter<Shared>,
}

/// Makes the schema of a type.
pub(super) type Makes = fn(&mut SchemaGenerator) -> Schema;

/// What is answered.
pub(super) enum Gives {
    /// An object of JSON.
    Json(Makes),
    /// Lines of JSON, in one of these forms.
    Lines(&'static [&'static str], Makes),
    /// What has another form.
    File(&'static str),
}

impl Route {
    /// One that reads what is in memory.
    pub(super) fn get<A: JsonSchema>(
        path: &'static str,
        about: &'static str,
        serve: MethodRouter<Shared>,
    ) -> Self {
        Self {
            method: Method::GET,
            path,
            about,
            needs: Needs::default(),
            query: None,
            body: None,
            gives: Gives::Json(SchemaGenerator::subschema_for::<A>),
            serve,
        }
    }

    /// One that changes something.
    pub(super) fn post<B: JsonSchema, A: JsonSchema>(
        path: &'static str,
        about: &'static str,
        serve: MethodRouter<Shared>,
    ) -> Self {
        Self {
            method: Method::POST,
            needs: Needs {
                writes: true,
                ..Needs::default()
            },
            body: Some(SchemaGenerator::subschema_for::<B>),
            ..Self::get::<A>(path, about, serve)
        }
    }

    /// It is asked this in the query.
    pub(super) fn asks<Q: JsonSchema>(mut self) -> Self {
        self.query = Some(Q::json_schema);
        self
    }

    /// It reads the store, or files of the crawl.
    pub(super) fn reads(mut self) -> Self {
        self.needs.store = true;
        self
    }

    /// It has nothing of the crawl.
    pub(super) fn open(mut self) -> Self {
        self.needs.is_open = true;
        self
    }

    /// It answers with a line for each of its answers.
    pub(super) fn lines(mut self, types: &'static [&'static str]) -> Self {
        if let Gives::Json(schema) = self.gives {
            self.gives = Gives::Lines(types, schema);
        }
        self
    }

    /// It answers with what is no JSON.
    pub(super) fn file(mut self, mime: &'static str) -> Self {
        self.gives = Gives::File(mime);
        self
    }
}
