//! Queries Cedar with workload W and prints, as one JSON object, its answers and their times, in
//! the form of ../go/measure.go.
//!
//! `cedar POLICY ENTITIES WORLD SECONDS LIST_SECONDS`: the policy and the entities are those of
//! bench/cedar.py, the questions those of bench/rivals/world.py.

use std::error::Error;
use std::fs::{File, read_to_string};
use std::io::{BufRead, BufReader};
use std::mem::MaybeUninit;
use std::str::FromStr;
use std::time::{Duration, Instant};

use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityId, EntityTypeName, EntityUid, PolicySet, Request,
};
use serde_json::{Value, json};

type Failure = Box<dyn Error>;

const WARM: usize = 50;

struct World {
    questions: Vec<(String, String)>,
    tables: Vec<String>,
    lists: Vec<String>,
}

struct Engine {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    action: EntityUid,
    user: EntityTypeName,
    table: EntityTypeName,
}

impl Engine {
    fn load(policy: &str, entities: &str) -> Result<Self, Failure> {
        Ok(Self {
            authorizer: Authorizer::new(),
            policies: PolicySet::from_str(&read_to_string(policy)?)?,
            entities: Entities::from_json_file(BufReader::new(File::open(entities)?), None)?,
            action: EntityUid::from_str("Action::\"load\"")?,
            user: EntityTypeName::from_str("User")?,
            table: EntityTypeName::from_str("Table")?,
        })
    }

    /// Names in, decision out: the measured time includes building the request.
    fn check(&self, user: &str, table: &str) -> Result<bool, Failure> {
        let request = Request::new(
            EntityUid::from_type_name_and_id(self.user.clone(), EntityId::new(user)),
            self.action.clone(),
            EntityUid::from_type_name_and_id(self.table.clone(), EntityId::new(table)),
            Context::empty(),
            None,
        )?;
        let response = self.authorizer.is_authorized(&request, &self.policies, &self.entities);
        if let Some(error) = response.diagnostics().errors().next() {
            return Err(error.to_string().into());
        }
        Ok(response.decision() == Decision::Allow)
    }
}

fn world(path: &str) -> Result<World, Failure> {
    let mut found = World { questions: Vec::new(), tables: Vec::new(), lists: Vec::new() };
    for line in BufReader::new(File::open(path)?).lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        match text("kind").as_str() {
            "question" => found.questions.push((text("user"), text("table"))),
            "list" => found.lists.push(text("user")),
            "node" if text("type") == "table" => found.tables.push(text("name")),
            _ => {}
        }
    }
    Ok(found)
}

/// CPU seconds and peak memory, in MiB, of this process so far.
fn usage() -> (f64, f64) {
    let mut found = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer refers to a value of the type that the call fills.
    let found = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, found.as_mut_ptr());
        found.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(found.ru_utime) + seconds(found.ru_stime), found.ru_maxrss as f64 / 1024.0)
}

fn single(engine: &Engine, world: &World, limit: Duration) -> Result<Value, Failure> {
    for (user, table) in world.questions.iter().rev().take(WARM) {
        engine.check(user, table)?;
    }
    let (mut answers, mut taken) = (String::new(), Vec::new());
    let (cpu, begun) = (usage().0, Instant::now());
    for (user, table) in &world.questions {
        if begun.elapsed() > limit {
            break;
        }
        let asked = Instant::now();
        let allowed = engine.check(user, table)?;
        taken.push(asked.elapsed().as_nanos() as f64 / 1e3);
        answers.push(if allowed { '1' } else { '0' });
    }
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), usage().0 - cpu);
    taken.sort_by(f64::total_cmp);
    Ok(json!({
        "from": 0, "answers": answers, "seconds": seconds, "cpu_s": cpu, "store_cpu_s": 0.0,
        "p50_us": taken[taken.len() / 2], "p99_us": taken[taken.len() * 99 / 100],
    }))
}

/// Cedar decides one request at a time by design: a batch is a loop.
fn batch(engine: &Engine, world: &World, limit: Duration) -> Result<Value, Failure> {
    let mut answers = String::new();
    let (cpu, begun) = (usage().0, Instant::now());
    for (user, table) in &world.questions {
        if begun.elapsed() > limit {
            break;
        }
        answers.push(if engine.check(user, table)? { '1' } else { '0' });
    }
    Ok(json!({
        "from": 0, "answers": answers, "size": world.questions.len(), "store_cpu_s": 0.0,
        "seconds": begun.elapsed().as_secs_f64(), "cpu_s": usage().0 - cpu,
    }))
}

/// Cedar has no list: a request for every table.
fn list(engine: &Engine, world: &World, user: &str, limit: Duration) -> Result<Value, Failure> {
    let (mut found, mut complete) = (Vec::new(), true);
    let (cpu, begun) = (usage().0, Instant::now());
    for table in &world.tables {
        if begun.elapsed() > limit {
            complete = false;
            break;
        }
        if engine.check(user, table)? {
            found.push(table.as_str());
        }
    }
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), usage().0 - cpu);
    Ok(json!({
        "user": user, "tables": found, "complete": complete, "seconds": seconds, "cpu_s": cpu,
        "store_cpu_s": 0.0,
    }))
}

fn main() -> Result<(), Failure> {
    let given: Vec<String> = std::env::args().collect();
    let [_, policy, entities, path, seconds, list_seconds] = given.as_slice() else {
        return Err("cedar POLICY ENTITIES WORLD SECONDS LIST_SECONDS".into());
    };
    let limit = Duration::from_secs_f64(seconds.parse()?);
    let list_limit = Duration::from_secs_f64(list_seconds.parse()?);
    let world = world(path)?;
    let begun = Instant::now();
    let engine = Engine::load(policy, entities)?;
    let load_s = begun.elapsed().as_secs_f64();
    let single = single(&engine, &world, limit)?;
    let batch = batch(&engine, &world, limit)?;
    let lists = world
        .lists
        .iter()
        .map(|user| list(&engine, &world, user, list_limit))
        .collect::<Result<Vec<_>, _>>()?;
    println!(
        "{}",
        json!({
            "load_s": load_s, "peak_mib": usage().1, "single": single, "batch": batch, "lists": lists,
        })
    );
    Ok(())
}
