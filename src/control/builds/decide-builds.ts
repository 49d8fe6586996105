import type { BuildId, UserId } from '../../core/ids.ts';
import type { UnfinishedBuild } from '../../domain/builds/running-builds.ts';

export interface BuildDecision {
  /** Builds to start, in this order. */
  start: BuildId[];
  /** Why each of the others waits. */
  waits: Map<BuildId, string>;
}

const OF_NAME = 'waits for an earlier build of this name';

/**
 * Decides which queued builds start. Builds of one user and name run one after the other, in the order in which they were made.
 * The user whose last build began longest ago is next, so that nobody waits for all builds of somebody else.
 */
export function decideBuilds(builds: readonly UnfinishedBuild[], atOnce: number): BuildDecision {
  const running = builds.filter(({ status }) => status !== 'QUEUED');
  const queued = builds.filter(({ status }) => status === 'QUEUED').toSorted(byTurn);
  const names = new Set(running.map(nameOf));
  const ofUser = new Map<UserId, number>();
  for (const { userId } of running) ofUser.set(userId, (ofUser.get(userId) ?? 0) + 1);
  const decision: BuildDecision = { start: [], waits: new Map() };
  let places = atOnce - running.length;
  for (const build of queued) {
    const own = ofUser.get(build.userId) ?? 0;
    const wait = waitOf(build, { hasName: names.has(nameOf(build)), own, places });
    names.add(nameOf(build)); // a later build of this name waits for this one, whether or not it starts
    if (wait !== null) {
      decision.waits.set(build.id, wait);
      continue;
    }
    decision.start.push(build.id);
    ofUser.set(build.userId, own + 1);
    places -= 1;
  }
  return decision;
}

function waitOf(
  { limit }: UnfinishedBuild,
  { hasName, own, places }: { hasName: boolean; own: number; places: number },
): string | null {
  if (hasName) return OF_NAME;
  if (limit !== null && own >= limit) return `waits for another build: the limit 'builds' allows ${limit} at once`;
  return places > 0 ? null : 'waits for other builds to end';
}

const nameOf = ({ userId, name }: UnfinishedBuild) => `${userId} ${name}`;

/** Stable: the builds of one user stay in their order. */
function byTurn(a: UnfinishedBuild, b: UnfinishedBuild): number {
  if (a.userId === b.userId) return 0;
  return (a.userStartedAt?.getTime() ?? 0) - (b.userStartedAt?.getTime() ?? 0);
}
