//! Kinds that users define: what goes for all of them. The rest is in their definitions: [`rules::apiextensions`].

use crate::row::Facts;

/// What can be told of any such kind; where its objects lie in etcd, and its columns, its definition says.
pub const FACTS: Facts = Facts { unconditional_update: false, any_finalizers: true, ..Facts::new("", 18) };
