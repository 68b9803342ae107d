//! Something that a user might do, as the authorizers see it. Mirrors `pkg/registry/authorization/util`.

use std::borrow::Cow;
use std::rc::Rc;

use k8s_openapi::api::authorization::v1::{NonResourceAttributes, ResourceAttributes};

use super::selectors::{Understood, of_fields, of_labels};
use crate::authorization::Attributes;
use object::Kind;
use wire::{Body, Request, Subresource, User, Verb};

/// A user, and what they might do with a resource or at a URL.
pub struct Access<'a> {
    user: Rc<User>,
    resource: Option<&'a ResourceAttributes>,
    url: Option<&'a NonResourceAttributes>,
}

fn text(field: &Option<String>) -> &str {
    field.as_deref().unwrap_or_default()
}

impl<'a> Access<'a> {
    /// What `user` might do.
    pub fn new(
        user: Rc<User>,
        resource: Option<&'a ResourceAttributes>,
        url: Option<&'a NonResourceAttributes>,
    ) -> Access<'a> {
        Access { user, resource, url }
    }

    /// As rules see it. Mirrors `ResourceAttributesFrom` and `NonResourceAttributesFrom`.
    pub fn attributes(&self) -> Attributes<'_> {
        let nothing = Attributes {
            user: &self.user,
            verb: "",
            group: "",
            resource: Cow::Borrowed(""),
            namespace: "",
            name: "",
            path: "",
        };
        match (self.resource, self.url) {
            (Some(resource), _) => Attributes {
                verb: text(&resource.verb),
                group: text(&resource.group),
                resource: match text(&resource.subresource) {
                    "" => Cow::Borrowed(text(&resource.resource)),
                    part => Cow::Owned(format!("{}/{part}", text(&resource.resource))),
                },
                namespace: text(&resource.namespace),
                name: text(&resource.name),
                ..nothing
            },
            (None, Some(url)) => Attributes { verb: text(&url.verb), path: text(&url.path), ..nothing },
            (None, None) => nothing,
        }
    }

    /// The same as a request, if it is one that could be sent: the Node authorizer looks at nothing else.
    pub fn as_request(&self) -> Option<Request> {
        let resource = self.resource?;
        let is_it = |kind: &Kind| {
            let info = kind.info();
            (info.plural, info.group) == (text(&resource.resource), text(&resource.group))
        };
        let kind = Kind::built_in().find(is_it)?;
        let verb = Verb::ALL.into_iter().find(|verb| verb.as_str() == text(&resource.verb))?;
        let (namespace, name) = (text(&resource.namespace), text(&resource.name));
        let mut request = Request::new(self.user.clone(), verb, kind, namespace, name, Body::None);
        request.subresource = match text(&resource.subresource) {
            "" => None,
            part => Some(Subresource::ALL.into_iter().find(|there| there.as_str() == part)?),
        };
        if let Some(selector) = &resource.field_selector {
            request.options.field_selector = of_fields(selector).0;
        }
        Some(request)
    }

    /// What of the question could not be understood. Mirrors `BuildEvaluationError`.
    pub fn evaluation_error(&self) -> String {
        let Some(resource) = self.resource else { return String::new() };
        let fields = resource.field_selector.as_ref().map(|selector| ("fieldSelector", of_fields(selector).1));
        let labels = resource.label_selector.as_ref().map(|selector| ("labelSelector", of_labels(selector)));
        let said = |(name, understood): (&str, Understood)| {
            let how = match understood {
                Understood::Whole => return None,
                Understood::InPart => "partially ignored",
                Understood::Not => "ignored",
            };
            Some(format!("spec.resourceAttributes.{name} {how} due to parse error"))
        };
        fields.into_iter().chain(labels).filter_map(said).collect::<Vec<_>>().join("; ")
    }
}
