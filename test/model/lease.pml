/*
 * The lease protocol of a job (docs/states.md, "Job" and "Lease"), for spin. README.md says what is checked and how.
 *
 * An atomic step is one statement of the database, or one request on its way. Time is counted in ticks of half a lease; what
 * the server does within a tick (polling, heartbeats, the rescue loop) has happened before the next one, unless a process is
 * frozen. There are no hints: in this model all of them are lost.
 */
#ifndef JOBS
#define JOBS 1
#endif
#ifndef WORKERS
#define WORKERS 3 /* ids; a worker that is gone is replaced by the next one */
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef OPERATIONS
#define OPERATIONS 1 /* of clients: cancel, retry; and execution timeouts */
#endif
#define PROCESSES 2
#define LEASE 2 /* ticks */
#define MAX_RETRIES 1
#define SETTLED 3 /* ticks after the last fault: from here on nothing is slow */

/* Job.state */
#define NEW 0
#define QUEUED 1
#define LEASED 2
#define ENDED 3

/* Worker.phase */
#define ABSENT 0
#define RUNNING 1
#define EXITED 2

#define NOBODY 3

typedef Job {
  unsigned state : 2;
  unsigned holder : 2;
  unsigned attempt : 3;
  bool isFailed; /* `retry` takes it */
  bool isRipe;   /* leased for a tick: a ping that does not name it means something */
  bool wasRequeued; /* for an assertion: it was rescued before */
}

typedef WorkerState {
  /* its row */
  unsigned phase : 2;
  bool isStopped;      /* wanted = 'STOP' */
  unsigned age : 2;    /* ticks since its last recorded heartbeat */
  bool isNews;         /* the last change of the row may be unknown to the data plane */
  /* its container */
  bool isAlive;
  bool isCut;          /* no packet of it arrives, and none reaches it */
  unsigned take : 2;   /* where its take is held, or NOBODY */
  unsigned hand : 2;   /* the job that it runs, or NOBODY */
  /* for assertions */
  bool isExcused;      /* it was cut off or died since its last heartbeat */
  unsigned lost : 2;   /* jobs, as bits, whose lease it lost */
}

typedef ProcessState {
  bool isFrozen;
  bool isLapsed;       /* frozen for the last tick: its row in `processes` showed it */
  /* a job that is committed as leased and not yet delivered */
  unsigned job : 2;
  unsigned worker : 2;
  bool isClosed;       /* the connection of that take is gone */
  /* UndeliveredJobs */
  unsigned known : 3;  /* workers, as bits, that asked this process before */
  unsigned missing : 6; /* bit `worker * 2 + job`: the last ping did not name it */
  /* control; a term that is over is one of a process that is not `leader` */
  bool leads;
  unsigned grace : 2;  /* ticks until silence counts */
  unsigned absent : 3; /* workers, as bits, without a container in the runtime's last list */
  unsigned rescued : 2; /* the worker whose leases are being ended, or NOBODY */
  bool isFailing;      /* jobs without retries left have been failed */
}

Job jobs[JOBS];
WorkerState workers[WORKERS];
ProcessState processes[PROCESSES];
unsigned leader : 2 = NOBODY; /* who holds the lock, and so has the current epoch */
unsigned faults : 2 = FAULTS;
unsigned operations : 2 = OPERATIONS;
unsigned quiet : 3;

hidden byte i;
hidden byte k;

#define BIT(n) (1 << (n))
#define isServed(w) ((workers[w].phase == RUNNING && !workers[w].isStopped) || workers[w].isNews)
#define hasToken(w) (workers[w].phase == RUNNING || workers[w].isNews)
#define holds(w, j) (jobs[j].state == LEASED && jobs[j].holder == (w))
#define isUp(w) (workers[w].isAlive && !workers[w].isCut)

#if JOBS > 1
#define areOver (jobs[0].state == ENDED && jobs[1].state == ENDED)
#else
#define areOver (jobs[0].state == ENDED)
#endif
#define canFail (faults > 0 && !areOver)

inline spend() {
  faults--;
  quiet = 0
}

/* ---- statements of job-sql.ts ---- */

inline lease(j, w) {
  jobs[j].state = LEASED;
  jobs[j].holder = w;
  jobs[j].attempt = jobs[j].attempt + 1;
  jobs[j].isRipe = false;
  workers[w].lost = workers[w].lost & ~BIT(j)
}

inline loseLease(j) {
  if
  :: jobs[j].state == LEASED ->
    workers[jobs[j].holder].lost = workers[jobs[j].holder].lost | BIT(j);
    jobs[j].holder = NOBODY;
    jobs[j].isRipe = false
  :: else
  fi
}

/* RELEASE without a retry: the job never reached the worker. */
inline releaseUndelivered(j, w) {
  if
  :: holds(w, j) ->
    loseLease(j);
    jobs[j].state = QUEUED;
    jobs[j].attempt = jobs[j].attempt - 1
  :: else
  fi
}

/* Somebody other than the holder ends the job. */
inline endJob(j, failed) {
  loseLease(j);
  jobs[j].state = ENDED;
  jobs[j].isFailed = failed
}

/* FINISH: the result counts if the worker holds the lease. */
inline finish(j, w) {
  if
#ifdef NO_FENCING
  :: true ->
#else
  :: holds(w, j) ->
#endif
    assert(jobs[j].state != ENDED);             /* none is finished twice */
    assert(!(workers[w].lost & BIT(j)));        /* a result of a worker that lost the lease never counts */
    jobs[j].state = ENDED;
    jobs[j].holder = NOBODY;
    jobs[j].isFailed = false;
    jobs[j].isRipe = false
  :: else
  fi
}

/* ---- connections ---- */

inline closeTake(w) {
  if
  :: workers[w].take != NOBODY ->
    if
    :: processes[workers[w].take].job != NOBODY && processes[workers[w].take].worker == w ->
      processes[workers[w].take].isClosed = true
    :: else
    fi;
    workers[w].take = NOBODY
  :: else
  fi
}

inline clearDelivery(p) {
  processes[p].job = NOBODY;
  processes[p].worker = NOBODY;
  processes[p].isClosed = false
}

inline clearTerm(p) {
  processes[p].leads = false;
  processes[p].grace = 0;
  processes[p].absent = 0;
  processes[p].rescued = NOBODY;
  processes[p].isFailing = false
}

/* ---- clients, and the execution timeout ---- */

proctype Client(byte j) {
  end: do
  /* Submitted while no worker waits; Dispatch leases the others at once. */
  :: d_step { jobs[j].state == NEW -> jobs[j].state = QUEUED }
  /* cancel, or purge-queue */
  :: d_step { operations > 0 && (jobs[j].state == QUEUED || jobs[j].state == LEASED) -> operations--; endJob(j, false) }
  /* EXPIRE_RUNNING */
  :: d_step { operations > 0 && jobs[j].state == LEASED -> operations--; endJob(j, true) }
  /* retry */
  :: d_step {
      operations > 0 && jobs[j].state == ENDED && jobs[j].isFailed ->
      operations--;
      jobs[j].state = QUEUED;
      jobs[j].attempt = 0;
      jobs[j].isFailed = false;
      jobs[j].wasRequeued = false
    }
  od
}

/* ---- the data plane of a process ---- */

/* A take, or a submission while a worker waits: committed as leased, in the worker's name. */
#define canLease(p, j, w) (!processes[p].isFrozen && processes[p].job == NOBODY && workers[w].take == p \
                           && (jobs[j].state == QUEUED || jobs[j].state == NEW))

inline takeJob(p, j, w) {
  lease(j, w);
  processes[p].job = j;
  processes[p].worker = w
}

#define canDeliver(p) (!processes[p].isFrozen && processes[p].job != NOBODY && !processes[p].isClosed)

proctype Dispatch(byte p) {
  end: do
  :: d_step { canLease(p, 0, 0) -> takeJob(p, 0, 0) }
  :: d_step { canLease(p, 0, 1) -> takeJob(p, 0, 1) }
  :: d_step { canLease(p, 0, 2) -> takeJob(p, 0, 2) }
#if JOBS > 1
  :: d_step { canLease(p, 1, 0) -> takeJob(p, 1, 0) }
  :: d_step { canLease(p, 1, 1) -> takeJob(p, 1, 1) }
  :: d_step { canLease(p, 1, 2) -> takeJob(p, 1, 2) }
#endif
  /* The answer arrives. */
  :: d_step {
      canDeliver(p) && isUp(processes[p].worker) ->
      workers[processes[p].worker].hand = processes[p].job;
      workers[processes[p].worker].take = NOBODY;
      clearDelivery(p)
    }
  /* The answer is lost, and nobody notices. */
  :: d_step {
      canDeliver(p) && (canFail || !isUp(processes[p].worker)) ->
      if
      :: isUp(processes[p].worker) -> spend()
      :: else
      fi;
      workers[processes[p].worker].take = NOBODY;
      clearDelivery(p)
    }
  /* The connection was found closed: the job goes back. */
  :: d_step {
      !processes[p].isFrozen && processes[p].isClosed ->
      i = processes[p].job;
      k = processes[p].worker;
      releaseUndelivered(i, k);
      clearDelivery(p)
    }
  od
}

/* ---- a worker ---- */

/* Its first take at a process says that it has no job in progress (UndeliveredJobs.checkIdleWorker). */
inline ask(w, p) {
  if
  :: !(processes[p].known & BIT(w)) ->
    processes[p].known = processes[p].known | BIT(w);
    for (i : 0 .. JOBS - 1) { releaseUndelivered(i, w) }
  :: else
  fi;
  workers[w].take = p
}

/* UndeliveredJobs.checkPing: two pings at a process lack a job of the worker. */
inline ping(w, p) {
  workers[w].age = 0;
  workers[w].isExcused = false;
#ifndef NO_NAMING
  for (i : 0 .. JOBS - 1) {
    if
    :: holds(w, i) && jobs[i].isRipe && workers[w].hand != i ->
      if
      :: processes[p].missing & BIT(w * 2 + i) ->
        releaseUndelivered(i, w);
        processes[p].missing = processes[p].missing & ~BIT(w * 2 + i)
      :: else -> processes[p].missing = processes[p].missing | BIT(w * 2 + i)
      fi
    :: else -> processes[p].missing = processes[p].missing & ~BIT(w * 2 + i)
    fi
  };
#endif
  skip
}

/* Nothing of a worker matters any more. */
inline forget(w) {
  workers[w].isStopped = false;
  workers[w].isCut = false;
  workers[w].isExcused = false;
  workers[w].age = 0;
  workers[w].lost = 0;
  for (i : 0 .. PROCESSES - 1) {
    processes[i].known = processes[i].known & ~BIT(w);
    processes[i].missing = processes[i].missing & ~(BIT(w * 2) | BIT(w * 2 + 1))
  }
}

#define canAsk(w, p) (isUp(w) && isServed(w) && workers[w].hand == NOBODY && workers[w].take == NOBODY \
                      && !processes[p].isFrozen)
#define canPing(w, p) (isUp(w) && hasToken(w) && workers[w].age > 0 && !processes[p].isFrozen)
#define canReport(w) (isUp(w) && hasToken(w) && workers[w].hand != NOBODY \
                      && !(processes[0].isFrozen && processes[1].isFrozen))

proctype Worker(byte w) {
  end: do
  :: d_step { canAsk(w, 0) -> ask(w, 0) }
  :: d_step { canAsk(w, 1) -> ask(w, 1) }
  :: d_step { canPing(w, 0) -> ping(w, 0) }
  :: d_step { canPing(w, 1) -> ping(w, 1) }
  /* Its result, committed by either process. */
  :: d_step {
      canReport(w) ->
      k = workers[w].hand;
      finish(k, w);
      workers[w].hand = NOBODY
    }
  /* Likewise, but the answer is lost: it will repeat the result. */
  :: d_step {
      canReport(w) && canFail ->
      spend();
      k = workers[w].hand;
      finish(k, w)
    }
  /* Without a valid token it gives up. */
  :: d_step { workers[w].hand != NOBODY && !hasToken(w) -> workers[w].hand = NOBODY }
  /* The hint about its row arrives, or the data plane reads it again: a worker that is not wanted gets no more jobs. */
  :: d_step {
      workers[w].isNews ->
      workers[w].isNews = false;
      closeTake(w);
      if
      :: workers[w].phase == EXITED -> forget(w)
      :: else
      fi
    }
  /* Its network works again. */
  :: d_step { workers[w].isCut -> workers[w].isCut = false }
  od
}

/* ---- control ---- */

#define isLate(p) (processes[p].isFrozen && processes[p].isLapsed)

/* The fence of migrations/0015-fencing.sql: only writes of the current term. */
#ifdef NO_EPOCH
#define mayWrite(p) (!processes[p].isFrozen && processes[p].leads)
#else
#define mayWrite(p) (!processes[p].isFrozen && processes[p].leads && leader == (p))
#endif
#define isIdle(p) (mayWrite(p) && processes[p].rescued == NOBODY)

#define isSilent(w) (workers[w].phase == RUNNING && !workers[w].isStopped && workers[w].age >= LEASE)
#define isWanted(w) (workers[w].phase == RUNNING && !workers[w].isStopped)
#define hasWorker (isWanted(0) || isWanted(1) || isWanted(2))
#define isOrphaned(j) (jobs[j].state == LEASED && workers[jobs[j].holder].phase == EXITED)

#ifdef NO_ORPHANS
#define willRescue(j) false
#else
#define willRescue(j) isOrphaned(j)
#endif

#define canJudge(p, w) (isIdle(p) && processes[p].grace == 0 && isSilent(w))
#define canStop(p, w) (isIdle(p) && workers[w].phase == RUNNING && workers[w].isStopped)
#define canFinalize(p, w) (isIdle(p) && workers[w].phase == RUNNING && (processes[p].absent & BIT(w)))
#define canStart(p, w) (isIdle(p) && !hasWorker && workers[w].phase == ABSENT)

/* JobRescuer.#replaceSilent: one statement judges and stops. */
inline judge(p, w) {
  assert(workers[w].isExcused);                 /* a healthy worker is never replaced */
  workers[w].isExcused = false;
  workers[w].age = 0;
  workers[w].isStopped = true;
  workers[w].isNews = true;
  processes[p].rescued = w
}

/* The container is gone for good; the exit is written, then its leases are ended. */
inline exit(p, w) {
  workers[w].phase = EXITED;
  workers[w].isNews = true;
  processes[p].rescued = w
}

inline kill(w) {
  workers[w].isAlive = false;
  workers[w].isExcused = true;
  workers[w].hand = NOBODY;
  closeTake(w)
}

inline finalize(p, w) {
  assert(!workers[w].isAlive);                  /* a healthy worker is never replaced */
  exit(p, w)
}

inline start(p, w) {
  workers[w].phase = RUNNING;
  workers[w].isAlive = true;
  processes[p].absent = processes[p].absent & ~BIT(w)
}

#define isMissing(w) (workers[w].isAlive -> 0 : BIT(w))
#define absentNow (isMissing(0) | isMissing(1) | isMissing(2))

proctype Control(byte p) {
  end: do
  /* Takes the lock when it is free, or ends the session of a leader that is frozen. */
  :: d_step {
      !processes[p].isFrozen && !processes[p].leads && (leader == NOBODY || (leader == 1 - p && isLate(1 - p))) ->
      clearTerm(p);
      leader = p;
      processes[p].leads = true;
      processes[p].grace = LEASE
    }
  /* Another one leads: steps down. */
  :: d_step { !processes[p].isFrozen && processes[p].leads && leader != p -> clearTerm(p) }
  :: d_step { canJudge(p, 0) -> judge(p, 0) }
  :: d_step { canJudge(p, 1) -> judge(p, 1) }
  :: d_step { canJudge(p, 2) -> judge(p, 2) }
  /* JobQueue.rescue: first FAIL_LOST, then RELEASE. */
  :: d_step {
      mayWrite(p) && processes[p].rescued != NOBODY && !processes[p].isFailing ->
      for (i : 0 .. JOBS - 1) {
        if
        :: holds(processes[p].rescued, i) && jobs[i].attempt > MAX_RETRIES ->
          assert(jobs[i].wasRequeued);          /* a job fails only when two workers were lost */
          endJob(i, true)
        :: else
        fi
      }
      processes[p].isFailing = true
    }
  :: d_step {
      mayWrite(p) && processes[p].rescued != NOBODY && processes[p].isFailing ->
      for (i : 0 .. JOBS - 1) {
        if
#ifdef RELEASE_ANY
        :: holds(processes[p].rescued, i) ->
#else
        :: holds(processes[p].rescued, i) && jobs[i].attempt <= MAX_RETRIES ->
#endif
          assert(!jobs[i].wasRequeued);         /* a job is requeued once */
          loseLease(i);
          jobs[i].state = QUEUED;
          jobs[i].wasRequeued = true
        :: else
        fi
      }
      processes[p].rescued = NOBODY;
      processes[p].isFailing = false
    }
#ifndef NO_ORPHANS
  /* JobRescuer.#rescueOrphans */
  :: d_step { isIdle(p) && isOrphaned(0) -> processes[p].rescued = jobs[0].holder }
#if JOBS > 1
  :: d_step { isIdle(p) && isOrphaned(1) -> processes[p].rescued = jobs[1].holder }
#endif
#endif
  /* The runtime's list: which workers have no container. Reading it needs no lock. */
  :: d_step {
      !processes[p].isFrozen && processes[p].leads && processes[p].absent != absentNow ->
      processes[p].absent = absentNow
    }
  /* decideWorker: a worker whose container is missing in the list is finalized. */
  :: d_step { canFinalize(p, 0) -> finalize(p, 0) }
  :: d_step { canFinalize(p, 1) -> finalize(p, 1) }
  :: d_step { canFinalize(p, 2) -> finalize(p, 2) }
  /* A stopped worker's container is killed after its grace period. */
  :: d_step { canStop(p, 0) -> kill(0); exit(p, 0) }
  :: d_step { canStop(p, 1) -> kill(1); exit(p, 1) }
  :: d_step { canStop(p, 2) -> kill(2); exit(p, 2) }
  /* A worker that is gone is replaced. */
  :: d_step { canStart(p, 0) -> start(p, 0) }
  :: d_step { canStart(p, 1) && workers[0].phase != ABSENT -> start(p, 1) }
  :: d_step { canStart(p, 2) && workers[1].phase != ABSENT -> start(p, 2) }
  od
}

/* ---- faults ---- */

/* Killed, and started again with an empty memory. */
inline restart(p) {
  for (k : 0 .. WORKERS - 1) {
    if
    :: workers[k].take == p -> workers[k].take = NOBODY
    :: else
    fi
  }
  clearDelivery(p);
  clearTerm(p);
  processes[p].isFrozen = false;
  processes[p].known = 0;
  processes[p].missing = 0;
  if
  :: leader == p -> leader = NOBODY
  :: else
  fi
}

inline cut(w) {
  workers[w].isCut = true;
  workers[w].isExcused = true
}

proctype Faults() {
  end: do
  :: d_step { canFail -> spend(); restart(0) }
  :: d_step { canFail -> spend(); restart(1) }
  :: d_step { canFail && !processes[0].isFrozen -> spend(); processes[0].isFrozen = true }
  :: d_step { canFail && !processes[1].isFrozen -> spend(); processes[1].isFrozen = true }
  :: d_step { /* the whole machine */
      canFail && !processes[0].isFrozen && !processes[1].isFrozen ->
      spend();
      processes[0].isFrozen = true;
      processes[1].isFrozen = true
    }
  :: d_step { processes[0].isFrozen -> processes[0].isFrozen = false }
  :: d_step { processes[1].isFrozen -> processes[1].isFrozen = false }
  :: d_step { canFail && leader != NOBODY -> spend(); leader = NOBODY } /* the connection that holds the lock is cut */
  :: d_step { canFail && isUp(0) -> spend(); kill(0) }
  :: d_step { canFail && isUp(1) -> spend(); kill(1) }
  :: d_step { canFail && isUp(2) -> spend(); kill(2) }
  :: d_step { canFail && isUp(0) -> spend(); cut(0) }
  :: d_step { canFail && isUp(1) -> spend(); cut(1) }
  :: d_step { canFail && isUp(2) -> spend(); cut(2) }
  :: d_step { canFail && isUp(0) && workers[0].take != NOBODY -> spend(); closeTake(0) }
  :: d_step { canFail && isUp(1) && workers[1].take != NOBODY -> spend(); closeTake(1) }
  :: d_step { canFail && isUp(2) && workers[2].take != NOBODY -> spend(); closeTake(2) }
  od
}

/* ---- time ---- */


#define anyFrozen (processes[0].isFrozen || processes[1].isFrozen)
#define bothFrozen (processes[0].isFrozen && processes[1].isFrozen)
#define isCalm (quiet == SETTLED)

/* What has happened before a tick. */
#define workerIsDone(w) (!workers[w].isNews \
  && (anyFrozen || !isUp(w) || !hasToken(w) || workers[w].age == 0) \
  && (anyFrozen || !isUp(w) || !isServed(w) || workers[w].hand != NOBODY || workers[w].take != NOBODY) \
  && (anyFrozen || workers[w].phase != RUNNING || workers[w].isAlive) \
  && (!isCalm || !isUp(w) || workers[w].hand == NOBODY) \
  && (!isCalm || workers[w].phase != RUNNING || !workers[w].isStopped))
#define canPoll(j) (canLease(0, j, 0) || canLease(0, j, 1) || canLease(0, j, 2) \
                 || canLease(1, j, 0) || canLease(1, j, 1) || canLease(1, j, 2))
#define jobIsDone(j) (!(jobs[j].state == QUEUED && canPoll(j)) && !(isCalm && jobs[j].state == NEW) \
                      && (anyFrozen || !willRescue(j)))
#define processIsDone(p) (processes[p].isFrozen || (processes[p].job == NOBODY \
  && (!processes[p].leads || (leader == p && processes[p].rescued == NOBODY \
      && !canJudge(p, 0) && !canJudge(p, 1) && !canJudge(p, 2) \
      && !canStart(p, 0) && !canStart(p, 1) && !canStart(p, 2)))))
#define isLed (bothFrozen || (leader != NOBODY && !isLate(leader)))
#if JOBS > 1
#define jobsAreDone (jobIsDone(0) && jobIsDone(1))
#else
#define jobsAreDone jobIsDone(0)
#endif

/* LeaseGrace: leases begin anew after a time in which some process, be it this one, heard nothing. */
#ifdef JUDGE_AFTER_FREEZE
#define restartsGrace(p) false
#else
#define restartsGrace(p) anyFrozen
#endif

inline pass() {
  for (i : 0 .. WORKERS - 1) {
    if
    :: isWanted(i) && workers[i].age < LEASE -> workers[i].age = workers[i].age + 1
    :: else
    fi
  }
  for (i : 0 .. PROCESSES - 1) {
    processes[i].isLapsed = processes[i].isFrozen;
    if
    :: processes[i].leads && restartsGrace(i) -> processes[i].grace = LEASE
    :: processes[i].leads && !restartsGrace(i) && !processes[i].isFrozen && processes[i].grace > 0 ->
      processes[i].grace = processes[i].grace - 1
    :: else
    fi
  }
  for (i : 0 .. JOBS - 1) { jobs[i].isRipe = (jobs[i].state == LEASED) }
  if
  :: quiet < SETTLED -> quiet++
  :: else
  fi
}

/* It stops when every job has ended. If it cannot, that is an invalid end state; if it never does, a cycle. */
proctype Clock() {
  do
  :: d_step {
      !areOver && jobsAreDone && isLed && !(isCalm && anyFrozen) &&
      workerIsDone(0) && workerIsDone(1) && workerIsDone(2) && processIsDone(0) && processIsDone(1) ->
      pass()
    }
  :: areOver -> break
  od
}

init {
  d_step {
    for (i : 0 .. JOBS - 1) { jobs[i].holder = NOBODY }
    for (i : 0 .. WORKERS - 1) {
      workers[i].take = NOBODY;
      workers[i].hand = NOBODY
    }
    for (i : 0 .. PROCESSES - 1) {
      processes[i].job = NOBODY;
      processes[i].worker = NOBODY;
      processes[i].rescued = NOBODY
    };
    skip
  }
  leader = 0;
  processes[0].leads = true;
  atomic {
    run Client(0);
#if JOBS > 1
    run Client(1);
#endif
    run Dispatch(0); run Dispatch(1);
    run Worker(0); run Worker(1); run Worker(2);
    run Control(0); run Control(1);
    run Faults();
    run Clock()
  }
}
