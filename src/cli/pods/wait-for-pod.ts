import type { ApiClient } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';

const SETTLED = new Set(['RUNNING', 'ERROR', 'EXITED']);

/**
 * Waits until a pod runs, and shows its system log lines, such as the image pull, as progress. Says why it waits for a
 * place. Throws a sentence with the
 * last line if the pod settles in another state.
 */
export async function waitForPod(client: ApiClient, id: string, output: CommandOutput): Promise<void> {
  const { terminal } = output;
  const end = new AbortController();
  let last = '';
  let toldReason: string | undefined;
  const following = (async () => {
    for await (const event of client.events(`/v2/pods/${id}/logs?source=system&tail=0`, end.signal)) {
      last = (JSON.parse(event) as { line: string }).line;
      terminal.progress(last);
    }
  })().catch(() => {}); // only progress is lost
  try {
    for await (const snapshot of client.events('/v2/pods/live', end.signal)) {
      const { pods } = JSON.parse(snapshot) as { pods: { id: string; status: string; reason?: string | null }[] };
      const { status = 'TERMINATED', reason } = pods.find((pod) => pod.id === id) ?? {};
      if (status !== 'TERMINATED' && !SETTLED.has(status)) {
        if (reason && reason !== toldReason) output.note(`Waiting: ${reason}`);
        toldReason = reason ?? toldReason;
        continue;
      }
      terminal.progress('');
      if (status !== 'RUNNING') throw new Error(`the pod is ${status}${last === '' ? '' : `: ${last}`}`);
      output.note('The pod is running.');
      return;
    }
  } finally {
    end.abort();
    await following;
  }
}
