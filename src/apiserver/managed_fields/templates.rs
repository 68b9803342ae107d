//! Pods of one owner are written alike, and admission writes into each of them. So that not every Pod keeps what it was
//! before, the fields of the first are worked out once, for all that are like it.

use std::cell::OnceCell;
use std::rc::Rc;

use object::fields::{BuiltIn, Managers, Operation, Set, Write, Writer};
use object::meta::controller_of;
use object::{Kind, Object, Pod};

use super::super::recent::Recent;
use super::shapes;

/// The last new Pod of each owner, as it was sent.
#[derive(Clone, Default)]
pub struct Templates(Recent<String, Rc<Template>>);

struct Template {
    pod: Pod,
    fields: OnceCell<Rc<Set>>,
}

impl Templates {
    /// The fields of a new Pod, if its owner has sent one like it before.
    pub fn fields_of(&mut self, pod: &Pod) -> Option<Rc<Set>> {
        let owner = controller_of(&pod.metadata)?;
        if let Some(template) = self.0.get(&owner.uid)
            && alike(&template.pod, pod)
        {
            return Some(template.fields.get_or_init(|| Rc::new(fields(&template.pod))).clone());
        }
        let template = Template { pod: pod.clone(), fields: OnceCell::new() };
        self.0.insert(owner.uid.clone(), Rc::new(template));
        None
    }
}

/// Whether both have the same fields.
fn alike(one: &Pod, other: &Pod) -> bool {
    let (a, b) = (&one.metadata, &other.metadata);
    a.labels == b.labels
        && a.annotations == b.annotations
        && a.owner_references == b.owner_references
        && a.finalizers == b.finalizers
        && a.generate_name == b.generate_name
        && one.spec == other.spec
}

fn fields(pod: &Pod) -> Set {
    let by =
        Writer { manager: "".into(), operation: Operation::Update, api_version: "v1".into(), subresource: "".into() };
    let ignored = shapes::reset_fields(Kind::Pod, "", true);
    let write = Write { by: &by, at: None, ignored: &ignored };
    let (old, new) = (shapes::whole(Kind::Pod, None), shapes::whole(Kind::Pod, Some(&Object::Pod(pod.clone().into()))));
    let managers = Managers::default().update(&BuiltIn::new(Kind::Pod), &old, &new, &write);
    managers.0.first().map(|managed| Set::clone(&managed.fields)).unwrap_or_default()
}
