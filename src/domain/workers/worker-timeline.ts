import type { Metrics } from '../../core/metrics.ts';

/** The stages of a worker's start, in order; `ready` is its own loading. */
export const STAGES = ['capacity', 'pull', 'create', 'start', 'ready'] as const;
/** Models, of workers that have to wait for some, come before the place. */
type StageName = (typeof STAGES)[number] | 'models';

/** `to` null: in progress. */
export interface Stage {
  stage: StageName;
  from: Date;
  to: Date | null;
}

/**
 * The column `timeline`: when each stage ended, as ISO times. `pullFrom`: the pull came first, and began then. `modelsFrom`:
 * there were models to fetch, after the pull. `copyFrom`: its machine, one of a cluster, got them once the container was created.
 */
export type TimelineMarks = Partial<
  Record<`${StageName}At` | 'pullFrom' | 'modelsFrom' | 'copyFrom' | 'copyAt', string>
>;

/** The start of a worker that has just become ready. */
export interface WorkerStart {
  createdAt: Date;
  timeline: TimelineMarks;
}

/** Counts the finished stages of a start. */
export function countStart(metrics: Metrics, { createdAt, timeline }: WorkerStart): void {
  for (const { stage, from, to } of workerStages({ createdAt, endedAt: null }, timeline)) {
    if (to !== null) metrics.coldStartStage(stage, to.getTime() - from.getTime());
  }
}

/**
 * Returns the stages of a worker's start, from its creation. A missing mark before a later one merges its stage into that
 * one. `endedAt`: when the worker ended, and with it its current stage.
 */
export function workerStages(
  worker: { createdAt: Date; endedAt: Date | null },
  marks: Readonly<TimelineMarks>,
): Stage[] {
  const stages: Stage[] = [];
  let from = worker.createdAt;
  const order = orderOf(marks);
  for (const [i, { stage, at }] of order.entries()) {
    const mark = marks[at];
    if (mark !== undefined) {
      const to = new Date(Math.max(from.getTime(), new Date(mark).getTime())); // a first take may be stored before an earlier mark
      stages.push({ stage, from, to });
      from = to;
    } else if (!order.slice(i + 1).some((later) => marks[later.at] !== undefined)) {
      stages.push({ stage, from, to: worker.endedAt });
      break;
    }
  }
  return stages;
}

/** A worker whose image or models have to be brought gets its place afterwards; a machine of a cluster gets models later still. */
function orderOf({
  pullFrom,
  modelsFrom,
  copyFrom,
}: Readonly<TimelineMarks>): readonly { stage: StageName; at: keyof TimelineMarks }[] {
  const first: StageName[] = [
    ...(pullFrom === undefined ? [] : (['pull'] as const)),
    ...(modelsFrom === undefined ? [] : (['models'] as const)),
  ];
  const order = [...first, ...STAGES.filter((stage) => !first.includes(stage))];
  return order.flatMap((stage) => {
    const own = { stage, at: `${stage}At` as const };
    return stage === 'create' && copyFrom !== undefined ? [own, { stage: 'models', at: 'copyAt' }] : [own];
  });
}
