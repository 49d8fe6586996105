/** The events of an endpoint in the period of its charts: releases, and workers that came and left. */
import type { Schemas } from '../../../api/client.ts';
import type { ChartMark } from '../../../ui/charts/series.ts';
import { formatCount } from '../../../ui/text/format.ts';
import { briefReason } from '../state-text.ts';

type History = Schemas['History'];
type Release = Schemas['Release'];
type Decision = Schemas['DecisionList']['decisions'][number];

export interface ChartEvent {
  /** ms. */
  at: number;
  kind: 'release' | 'scaling' | 'lost';
  title: string;
  /** Empty where it is not known. */
  reason: string;
}

/** As many decisions as the server keeps. Of a time before them the history has the counts. */
export const KEPT_DECISIONS = 100;

/** Returns the events within the history's time, the newest first. */
export function chartEvents(
  history: History,
  releases: readonly Release[],
  decisions: readonly Decision[],
): ChartEvent[] {
  const [from, until] = [Date.parse(history.from), Date.parse(history.until)];
  const oldest = decisions.at(-1);
  const explainedFrom = oldest && decisions.length >= KEPT_DECISIONS ? Date.parse(oldest.at) : from;
  const counted = history.points.filter((point) => Date.parse(point.at) + history.stepSeconds * 1000 <= explainedFrom);
  return [...releases.map(ofRelease), ...decisions.map(ofDecision), ...counted.flatMap(ofCounts)]
    .filter(({ at }) => at >= from && at < until)
    .sort((a, b) => b.at - a.at);
}

function ofRelease({ version, createdAt, diff }: Release): ChartEvent {
  const changed = diff.map(({ field }) => field).join(', ');
  const reason = version === 1 ? 'first release' : changed === '' ? '' : `changed: ${changed}`;
  return { at: Date.parse(createdAt), kind: 'release', title: `Version ${version}`, reason };
}

const WORDS: Record<Decision['actions'][number]['kind'], string> = {
  start: 'started',
  thaw: 'thawed',
  freeze: 'frozen',
  stop: 'stopped',
  drain: 'stopped after their work',
  exit: 'ended unexpectedly',
};

function ofDecision({ at, reason, actions }: Decision): ChartEvent {
  const counts = Object.entries(Object.groupBy(actions, ({ kind }) => kind)).map(
    ([kind, group]) => `${formatCount(group.length, 'worker')} ${WORDS[kind as keyof typeof WORDS]}`,
  );
  const isLost = actions.some(({ kind }) => kind === 'exit');
  return {
    at: Date.parse(at),
    kind: isLost ? 'lost' : 'scaling',
    title: counts.length === 0 ? 'Decision' : counts.join(', '),
    reason: briefReason(reason),
  };
}

function ofCounts(point: History['points'][number]): ChartEvent[] {
  const { coldStarts, workersEnded, workersLost } = point;
  if (coldStarts + workersEnded === 0) return [];
  const parts = [
    ...(coldStarts > 0 ? [`${formatCount(coldStarts, 'worker')} became ready`] : []),
    ...(workersEnded > workersLost ? [`${formatCount(workersEnded - workersLost, 'worker')} ended`] : []),
    ...(workersLost > 0 ? [`${formatCount(workersLost, 'worker')} ended unexpectedly`] : []),
  ];
  return [
    { at: Date.parse(point.at), kind: workersLost > 0 ? 'lost' : 'scaling', title: parts.join(', '), reason: '' },
  ];
}

/** Lines that a chart can show and stay legible. */
const MAX_LINES = 12;

/** Returns the events as marks of the points that they belong to. Lines are those of releases and losses, one per point. */
export function chartMarks(events: readonly ChartEvent[], stepSeconds: number): ChartMark[] {
  const stepMs = stepSeconds * 1000;
  const lines = new Set<number>();
  return events.map(({ at, kind, title, reason }) => {
    const point = Math.floor(at / stepMs) * stepMs;
    const text = reason === '' ? title : `${title}: ${reason}`;
    if (kind === 'scaling' || lines.has(point) || lines.size >= MAX_LINES) return { at: point, text };
    lines.add(point);
    const label = kind === 'release' ? title.replace('Version ', 'v') : 'lost';
    return { at: point, text, line: { label, isBad: kind === 'lost' } };
  });
}

export interface EventGroup {
  /** Where it is, from 0 to 1. */
  position: number;
  kind: ChartEvent['kind'];
  events: ChartEvent[];
}

const SEVERITY: ChartEvent['kind'][] = ['scaling', 'lost', 'release'];

/** Returns the events in at most `slots` groups from the oldest to the newest, each with the kind that stands out most. */
export function groupEvents(events: readonly ChartEvent[], history: History, slots: number): EventGroup[] {
  const [from, until] = [Date.parse(history.from), Date.parse(history.until)];
  const groups = Map.groupBy(events, ({ at }) => Math.floor(((at - from) / (until - from)) * slots));
  return [...groups]
    .sort(([a], [b]) => a - b)
    .map(([slot, members]) => ({
      position: (slot + 0.5) / slots,
      kind: SEVERITY.findLast((kind) => members.some((event) => event.kind === kind))!,
      events: members,
    }));
}
