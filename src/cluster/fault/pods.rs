//! What is in Pods: processes that are killed, files, what servers answer, what they use; and their images.

use std::time::Duration;

use engine::{APISERVER, ActorId};
use kubelet::runtime::Runtime;
use object::Key;
use object::loads::Load;

use super::super::Cluster;
use super::text::seconds;
use super::{About, Breaks, Fault, Row};

pub(super) const KILL: Row = Row {
    names: &[("kill", "kill POD [CONTAINER], as in: kill web-1"), ("oom", "oom POD [CONTAINER], as in: oom web-1")],
    read: |words| match words.rest {
        [pod, container @ ..] if container.len() <= 1 => Ok(Fault::of(Kill {
            pod: words.pod(pod),
            container: container.first().copied().unwrap_or_default().to_owned(),
            oom: words.name == "oom",
        })),
        _ => words.wrong(),
    },
};

/// `kill web-1 [container]`, `oom web-1 [container]`.
#[derive(Clone, Debug)]
struct Kill {
    pod: Key,
    /// Empty: the first.
    container: String,
    /// By the kernel, for its memory.
    oom: bool,
}

impl Breaks for Kill {
    fn name(&self) -> &'static str {
        if self.oom { "oom" } else { "kill" }
    }

    fn words(&self) -> String {
        format!("{} {}", self.pod, self.container).trim_end().to_owned()
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let Kill { pod, container, oom } = self;
        match cluster.kill_container(pod, container, *oom) {
            true => Ok("the process is gone; the kubelet will notice".to_owned()),
            false => Err(format!("no such container runs in {pod}{}", cluster.no_pod(pod))),
        }
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.runtime_of(&self.pod)
    }

    fn about(&self) -> Option<About<'_>> {
        Some(About::Pod(&self.pod))
    }
}

pub(super) const FILE: Row = Row {
    names: &[("file", "file on POD PATH, or: file off POD PATH; as in: file off web-1 /tmp/ready")],
    read: |words| match words.rest {
        [on @ ("on" | "off"), pod, path] => {
            Ok(Fault::of(File { present: *on == "on", pod: words.pod(pod), path: (*path).to_owned() }))
        }
        _ => words.wrong(),
    },
};

/// `file on POD PATH`, `file off POD PATH`: what the exec probe `cat PATH` in the Pod sees.
#[derive(Clone, Debug)]
struct File {
    present: bool,
    pod: Key,
    path: String,
}

impl Breaks for File {
    fn name(&self) -> &'static str {
        "file"
    }

    fn words(&self) -> String {
        let on = if self.present { "on" } else { "off" };
        format!("{on} {} {}", self.pod, shell_words::quote(&self.path))
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let File { present, pod, path } = self;
        let (runtimes, when) = match cluster.runtime_of(pod) {
            Some(runtime) => (vec![runtime], ""),
            None if cluster.no_pod(pod).is_empty() => {
                (cluster.machines().filter_map(|machine| cluster.runtime_on(machine)).collect(), ", once it runs")
            }
            None => return Err(cluster.runs_nowhere(pod)),
        };
        let entry = (pod.to_string(), path.clone());
        for runtime in runtimes {
            cluster.with_runtime(runtime, |runtime| {
                runtime.with(|state| match present {
                    true => state.files.insert(entry.clone()),
                    false => state.files.remove(&entry),
                })
            });
        }
        Ok(format!("{path} in {pod} is {}{when}", if *present { "there" } else { "gone" }))
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.runtime_of(&self.pod)
    }

    fn about(&self) -> Option<About<'_>> {
        Some(About::Pod(&self.pod))
    }
}

pub(super) const ANSWER: Row = Row {
    names: &[("answer", "answer POD CODE, an HTTP status from 100 to 599; as in: answer web-1 503")],
    read: |words| match words.rest {
        [pod, status] => match status.parse() {
            Ok(status @ 100..=599) => Ok(Fault::of(Answer { pod: words.pod(pod), status })),
            _ => Err(format!("{status:?} is not an HTTP status; {}", words.usage())),
        },
        _ => words.wrong(),
    },
};

/// `answer POD CODE`: the HTTP status that the Pod's servers answer with from now on.
#[derive(Clone, Debug)]
struct Answer {
    pod: Key,
    status: u16,
}

impl Breaks for Answer {
    fn name(&self) -> &'static str {
        "answer"
    }

    fn words(&self) -> String {
        format!("{} {}", self.pod, self.status)
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let Answer { pod, status } = self;
        let host =
            cluster.node_of(pod).and_then(|node| cluster.host(&node)).ok_or_else(|| cluster.runs_nowhere(pod))?;
        host.sockets.borrow_mut().answers.insert(pod.to_string(), *status);
        Ok(format!("the servers in {pod} answer {status} from now on"))
    }

    fn concerned(&self, cluster: &Cluster) -> Option<ActorId> {
        cluster.runtime_of(&self.pod)
    }

    fn about(&self) -> Option<About<'_>> {
        Some(About::Pod(&self.pod))
    }
}

pub(super) const SLOW: Row = Row {
    names: &[("slow", "slow IMAGE SECONDS, as in: slow nginx 30")],
    read: |words| match words.rest {
        [image, time] => Ok(Fault::of(Slow { image: (*image).to_owned(), time: seconds(time)? })),
        _ => words.wrong(),
    },
};

/// `slow nginx 30`: from now on pulling the image takes so long, on every node.
#[derive(Clone, Debug)]
struct Slow {
    /// Without its tag.
    image: String,
    time: Duration,
}

impl Breaks for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn words(&self) -> String {
        format!("{} {}", self.image, self.time.as_secs_f64())
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        cluster.images.entry(self.image.clone()).or_default().pull_time = Some(self.time);
        for machine in cluster.machines().map(str::to_owned).collect::<Vec<_>>() {
            cluster.script_images(&machine);
        }
        Ok(format!("pulling {} takes {} s from now on", self.image, self.time.as_secs_f64()))
    }

    fn concerned(&self, _cluster: &Cluster) -> Option<ActorId> {
        None
    }
}

pub(super) const BUSY: Row = Row {
    names: &[(
        "busy",
        "busy SELECTOR [cpu=AMOUNT] [memory=AMOUNT] [container=NAME] [namespace=NAME] [shared], as in: busy app=web cpu=900m",
    )],
    read: |words| {
        let load = Load::parse(words.rest, words.namespace);
        load.map(Fault::of).map_err(|error| format!("{error}; {}", words.usage()))
    },
};

/// `busy app=web cpu=900m`: what Pods use from now on, as `metrics.k8s.io` tells it.
impl Breaks for Load {
    fn name(&self) -> &'static str {
        "busy"
    }

    fn words(&self) -> String {
        self.to_string()
    }

    fn perform(&self, cluster: &mut Cluster) -> Result<String, String> {
        let whose = if self.shared { "all together" } else { "each" };
        let said = format!("from now on these Pods use, {whose}: {self}");
        cluster.put_on(self.clone()).map(|()| said)
    }

    fn concerned(&self, _cluster: &Cluster) -> Option<ActorId> {
        Some(APISERVER)
    }
}

impl Cluster {
    /// Kills the process of a Pod's container, or lets the kernel do it for its memory. False if none runs.
    pub fn kill_container(&mut self, pod: &Key, container: &str, oom: bool) -> bool {
        let Some(runtime) = self.runtime_of(pod) else { return false };
        let kill = |runtime: &Runtime| match oom {
            true => runtime.oom(pod, container),
            false => runtime.kill(pod, container),
        };
        self.with_runtime(runtime, kill).unwrap_or(false)
    }
}
