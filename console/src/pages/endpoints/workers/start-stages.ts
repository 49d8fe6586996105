import type { Schemas } from '../../../api/client.ts';
import type { CHART_COLORS } from '../../../ui/charts/series.ts';
import { formatDuration } from '../../../ui/text/format.ts';

export type Timeline = Schemas['WorkerDetail']['timeline'];
export type StageName = Timeline[number]['stage'];

/** The stages of a worker's start, in order. */
export const STAGES: Record<StageName, { label: string; color: keyof typeof CHART_COLORS }> = {
  capacity: { label: 'Wait for capacity', color: 'orange' },
  pull: { label: 'Pull image', color: 'blue' },
  models: { label: 'Fetch models', color: 'gray' },
  create: { label: 'Create container', color: 'violet' },
  start: { label: 'Start container', color: 'green' },
  ready: { label: 'Initialize', color: 'teal' },
};

export interface Segment {
  /** A start may fetch models twice: to the server, and to its node. */
  key: string;
  stage: StageName;
  /** The share of the longest start, in percent. */
  percent: number;
}

/** Returns the length of a start so far, in ms: a stage that lasts counts until now. */
export function startMs(timeline: Timeline, nowMs: number): number {
  return timeline.reduce((sum, stage) => sum + stageMs(stage, nowMs), 0);
}

/** Returns the bar of a start beside one of `longestMs`. */
export function segmentsOf(timeline: Timeline, longestMs: number, nowMs: number): Segment[] {
  return timeline.map((stage) => ({
    key: stage.stage + stage.from,
    stage: stage.stage,
    percent: (100 * stageMs(stage, nowMs)) / Math.max(1, longestMs),
  }));
}

/** `Wait for capacity 2.0 s, pull image 14 s`. */
export function timelineText(timeline: Timeline, nowMs: number): string {
  const text = timeline
    .map((stage) => `${STAGES[stage.stage].label.toLowerCase()} ${formatDuration(stageMs(stage, nowMs))}`)
    .join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function stageMs({ ms, from }: Timeline[number], nowMs: number): number {
  return ms ?? Math.max(0, nowMs - Date.parse(from));
}
