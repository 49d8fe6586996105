import type { CliOutput } from '../cli-pieces.ts';
import type { ApiClient } from './api-client.ts';
import type { Terminal } from './terminal.ts';

const SETTLED = new Set(['RUNNING', 'ERROR', 'EXITED']);

/**
 * Watches a pod until it runs; the lines that the system logs about it, the pull of its image among them, are the
 * progress. Throws a sentence with the last one when it came to rest in another state.
 */
export async function waitForPod(
  client: ApiClient,
  id: string,
  { terminal, output }: { terminal: Terminal; output: CliOutput },
): Promise<void> {
  const end = new AbortController();
  let last = '';
  const telling = (async () => {
    for await (const event of client.events(`/v2/pods/${id}/logs?source=system&tail=0`, end.signal)) {
      last = (JSON.parse(event) as { line: string }).line;
      terminal.progress(last);
    }
  })().catch(() => {}); // without them it is only quieter
  try {
    for await (const snapshot of client.events('/v2/pods/live', end.signal)) {
      const { pods } = JSON.parse(snapshot) as { pods: { id: string; status: string }[] };
      const status = pods.find((pod) => pod.id === id)?.status ?? 'TERMINATED';
      if (status !== 'TERMINATED' && !SETTLED.has(status)) continue;
      terminal.progress('');
      if (status !== 'RUNNING') throw new Error(`the pod is ${status}${last === '' ? '' : `: ${last}`}`);
      output.note('It runs.');
      return;
    }
  } finally {
    end.abort();
    await telling;
  }
}
