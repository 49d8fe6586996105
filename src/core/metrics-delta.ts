import type { EndpointId } from './ids.ts';
import type { Api, Counts, Histogram, JobFigures, Metrics, ProxyPlane, StatusClass } from './metrics.ts';

/** What a process counted since its last report: plain values for another process to add up. */
export interface MetricsDelta {
  routes: { api: Api; route: string; answers: [status: number, count: number][]; duration: Counts }[];
  proxy: { plane: ProxyPlane; statusClass: StatusClass; duration: Counts }[];
  stages: [stage: string, duration: Counts][];
  thaws: Counts;
  eventLoopLag: Counts;
  jobs: { endpointId: EndpointId; submitted: number; ended: JobFigures['ended']; wait: Counts; execution: Counts }[];
}

/**
 * Returns what these metrics counted and resets them, so that nothing is counted twice. They must label every endpoint; the
 * receiver decides which keep their label.
 */
export function takeDelta(metrics: Metrics): MetricsDelta {
  const delta: MetricsDelta = {
    routes: [],
    proxy: [],
    stages: [...metrics.coldStarts].map(([stage, duration]) => [stage, duration.take()]),
    thaws: metrics.thaws.take(),
    eventLoopLag: metrics.eventLoopLag.take(),
    jobs: [],
  };
  metrics.coldStarts.clear();
  for (const [api, routes] of entries(metrics.routes)) {
    for (const [route, { answers, duration }] of routes) {
      delta.routes.push({ api, route, answers: [...answers], duration: duration.take() });
    }
    routes.clear();
  }
  for (const [plane, classes] of entries(metrics.proxy)) {
    for (const [statusClass, duration] of entries(classes)) {
      if (hasCounted(duration)) delta.proxy.push({ plane, statusClass, duration: duration.take() });
    }
  }
  for (const endpointId of metrics.endpointIds) {
    const { submitted, ended, wait, execution } = metrics.jobsOf(endpointId);
    delta.jobs.push({ endpointId, submitted, ended, wait: wait.take(), execution: execution.take() });
  }
  metrics.forgetEndpoints(metrics.endpointIds);
  return delta;
}

export function addDelta(metrics: Metrics, delta: MetricsDelta): void {
  for (const { api, route, answers, duration } of delta.routes) {
    const figures = metrics.routeOf(api, route);
    for (const [status, count] of answers) figures.answers.set(status, (figures.answers.get(status) ?? 0) + count);
    figures.duration.add(duration);
  }
  for (const { plane, statusClass, duration } of delta.proxy) metrics.proxy[plane][statusClass].add(duration);
  for (const [stage, duration] of delta.stages) metrics.stageOf(stage).add(duration);
  metrics.thaws.add(delta.thaws);
  metrics.eventLoopLag.add(delta.eventLoopLag);
  for (const { endpointId, submitted, ended, wait, execution } of delta.jobs) {
    const figures = metrics.jobsOf(endpointId);
    figures.submitted += submitted;
    for (const [end, count] of entries(ended)) figures.ended[end] += count;
    figures.wait.add(wait);
    figures.execution.add(execution);
  }
}

function hasCounted({ counts }: Histogram): boolean {
  return counts.some((count) => count > 0);
}

function entries<K extends string, V>(record: Readonly<Record<K, V>>): [K, V][] {
  return Object.entries(record) as [K, V][];
}
