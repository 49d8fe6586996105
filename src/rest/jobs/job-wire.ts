import type { Static } from 'typebox';
import type { JobDetail } from '../../domain/jobs/get-job.ts';
import type { JobDetailResponse } from './job-schemas.ts';

type Rendered = Omit<Static<typeof JobDetailResponse>, 'input' | 'output'>;

/** Renders a job as JSON text. Payloads are copied as they are: parsing would round large numbers and reorder keys. */
export function renderJobDetail(job: JobDetail, now: number): string {
  const { input, output, isSync, executionTimeoutMs, attempts, webhook, wait, ...rest } = job;
  const rendered: Rendered = {
    ...rest,
    sync: isSync,
    executionTimeout: executionTimeoutMs,
    wait,
    attempts: attempts.map((attempt) => ({
      ...attempt,
      stages: attempt.stages.map(({ stage, from, to, reason }) => ({
        stage,
        from: from.toISOString(),
        to: to?.toISOString() ?? null,
        ms: Math.max(0, (to?.getTime() ?? now) - from.getTime()),
        reason,
      })),
    })),
    webhook: webhook && { ...webhook, nextTryAt: webhook.nextTryAt?.toISOString() ?? null },
  };
  const payloads = (input === null ? '' : `,"input":${input}`) + (output === null ? '' : `,"output":${output}`);
  return `${JSON.stringify(rendered).slice(0, -1)}${payloads}}`;
}
