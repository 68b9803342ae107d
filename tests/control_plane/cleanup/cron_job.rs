//! The CronJob controller: what it writes for a tick, and which Jobs it keeps.

use object::Kind;
use serde_json::json;

use super::harness::World;

const CRON: &str = "cronjob-controller";

/// A Job every minute, which takes two seconds; one that has succeeded is kept.
fn tick(world: &mut World) {
    let container = json!({"name": "c", "image": "busybox:1.36", "command": ["sh", "-c", "sleep 2"]});
    world.apply(json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"},
        "spec": {
            "schedule": "* * * * *", "successfulJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}},
        },
    }));
}

#[test]
fn a_job_that_succeeded_is_written_down_at_once() {
    let mut world = World::new(1);
    tick(&mut world);
    world.run(80);
    let jobs = world.list(Kind::Job, "default");
    let job = jobs[0].to_json();
    let name = job["metadata"]["name"].as_str().unwrap();
    let writes = world.take_writes(CRON);
    let created = format!("create jobs {name} 201");
    let told = [format!("event SuccessfulCreate: Created job {name}"), String::from("update cronjobs/status tick 200")];
    let ended = format!("event SawCompletedJob: Saw completed job: {name}, condition: Complete");
    assert_eq!(writes[0], created);
    for line in &told {
        assert!(writes[1..3].contains(line), "{line} in {writes:?}");
    }
    // No longer active, and when it succeeded: one write says both.
    assert_eq!(writes.len(), 5, "{writes:?}");
    assert!(writes[3..].contains(&ended) && writes[3..].contains(&told[1]), "{writes:?}");
    let status = world.get(Kind::CronJob, "default/tick").unwrap().to_json()["status"].clone();
    assert_eq!(status["lastSuccessfulTime"], job["status"]["completionTime"]);
    assert_eq!(status["active"], json!(null));
}

#[test]
fn a_job_that_somebody_else_made_counts_too() {
    let mut world = World::new(1);
    tick(&mut world);
    world.run(80);
    assert_eq!(world.kubectl("create job manual --from=cronjob/tick"), "job.batch/manual created\n");
    world.take_writes(CRON);
    world.run(20);
    let writes = world.take_writes(CRON);
    let unexpected = "event UnexpectedJob: Saw a job that the controller did not create or forgot: manual";
    assert!(writes.iter().any(|write| write == unexpected), "{writes:?}");
    assert!(!writes.iter().any(|write| write.contains("SawCompletedJob")), "{writes:?}");
    let left = world.list(Kind::Job, "default");
    let [manual] = &left[..] else { panic!("only the latest is kept") };
    let manual = manual.to_json();
    assert_eq!(manual["metadata"]["name"], "manual");
    let status = world.get(Kind::CronJob, "default/tick").unwrap().to_json()["status"].clone();
    assert_eq!(status["lastSuccessfulTime"], manual["status"]["completionTime"]);
}

#[test]
fn a_job_of_an_earlier_cron_job_with_its_name_counts_too() {
    let mut world = World::new(1);
    tick(&mut world);
    let owner = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": "of-an-earlier-one", "controller": true,
    });
    // The garbage collector wants it to go; it stays for its finalizer.
    world.apply(json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "left", "ownerReferences": [owner], "finalizers": ["example.com/stays"]},
        "spec": {"suspend": true, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox:1.36"}],
        }}},
    }));
    world.run(10);
    assert_eq!(world.take_writes(CRON), [""; 0], "it is not told to the new one");
    world.run(60);
    let unexpected = "event UnexpectedJob: Saw a job that the controller did not create or forgot: left";
    let writes = world.take_writes(CRON);
    assert!(writes.iter().any(|write| write == unexpected), "{writes:?}");
}
