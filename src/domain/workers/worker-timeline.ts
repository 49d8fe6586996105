import type { Metrics } from '../../core/metrics.ts';

/** What a worker goes through until it takes work, in this order; `ready` is its own loading. */
export const STAGES = ['capacity', 'pull', 'create', 'start', 'ready'] as const;
export type StageName = (typeof STAGES)[number];

/** `to` null: it lasts. */
export interface Stage {
  stage: StageName;
  from: Date;
  to: Date | null;
}

/** The column `timeline`: when each stage was over, as ISO times. */
export type TimelineMarks = Partial<Record<`${StageName}At`, string>>;

/** A worker that has just become ready. */
export interface WorkerStart {
  createdAt: Date;
  timeline: TimelineMarks;
}

/** Counts each stage of a start that is over. */
export function countStart(metrics: Metrics, { createdAt, timeline }: WorkerStart): void {
  for (const { stage, from, to } of workerStages({ createdAt, endedAt: null }, timeline)) {
    if (to !== null) metrics.coldStartStage(stage, to.getTime() - from.getTime());
  }
}

/**
 * The stages of a worker's start, from its creation on. A mark that was not written, although a later one was, joins its
 * stage to that one. `endedAt`: when it ended, and with it the stage it was in.
 */
export function workerStages(
  worker: { createdAt: Date; endedAt: Date | null },
  marks: Readonly<TimelineMarks>,
): Stage[] {
  const stages: Stage[] = [];
  let from = worker.createdAt;
  for (const [i, stage] of STAGES.entries()) {
    const mark = marks[`${stage}At`];
    if (mark !== undefined) {
      const to = new Date(Math.max(from.getTime(), new Date(mark).getTime())); // a first take may overtake a note
      stages.push({ stage, from, to });
      from = to;
    } else if (!STAGES.slice(i + 1).some((later) => marks[`${later}At`] !== undefined)) {
      stages.push({ stage, from, to: worker.endedAt });
      break;
    }
  }
  return stages;
}
