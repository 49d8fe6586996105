import { inOneLine } from '../../domain/logs/quote-output.ts';
import { ApiClient, BuildFailed } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';

type Build = Schemas['Build'];

const LAST_LINES = 20;
/** Characters of a line of a failed step that are shown: the log has all. */
const MAX_LINE = 500;

interface Line {
  number: number;
  step: string | null;
  text: string;
}

/**
 * Creates a build and follows it to its end, through restarts of the server. Shows the step that runs; of one that fails, its last
 * lines. Resolves with the image. Throws `BuildFailed`. Ctrl-C cancels the build.
 */
export async function runBuild(
  client: ApiClient,
  body: Schemas['CreateBuildRequest'],
  output: CommandOutput,
): Promise<string> {
  const { id } = await client.call('post', '/v2/builds', { body });
  try {
    const lines: Line[] = [];
    const end = await follow(client, id, lines, output);
    output.terminal.progress('');
    if (end.image) return end.image;
    const build = await client.call('get', '/v2/builds/{id}', { path: { id } });
    if (build.image !== null && build.status === 'COMPLETED') return build.image;
    throw failureOf(build, lines, output);
  } catch (error) {
    if (output.terminal.interrupted.aborted) await cancel(client, id, output);
    throw error;
  }
}

/** The last event of a log. The image is that of a build that has completed; a server before 0.2.0 does not name it. */
type End = Pick<Build, 'status'> & { image?: string | null };

/** Shows lines until the log ends. */
async function follow(client: ApiClient, id: string, lines: Line[], output: CommandOutput): Promise<Partial<End>> {
  const { terminal } = output;
  for await (const data of client.events(`/v2/builds/${id}/logs`)) {
    const line = JSON.parse(data) as Line | End;
    if ('status' in line) return line;
    if (line.number <= (lines.at(-1)?.number ?? 0)) continue;
    const isNewStep = line.step !== null && line.step !== lines.at(-1)?.step;
    lines.push(line);
    if (isNewStep && !terminal.isInteractive) output.note(`  ${inOneLine(line.step!)}`);
    terminal.progress(inOneLine(line.step === null ? line.text : `${line.step}: ${line.text}`));
  }
  return {};
}

function failureOf({ id, status, reason, failedStep }: Build, lines: readonly Line[], { note }: CommandOutput): Error {
  const own = lines.filter(({ step }) => step === failedStep);
  const ofStep = own.length > 0 ? own : lines;
  const shown = ofStep.slice(-LAST_LINES);
  if (ofStep.length > shown.length) note(`  … ${ofStep.length - shown.length} lines before`);
  for (const { text } of shown) note(`  ${text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)} …` : text}`);
  const [why = ''] = (reason ?? '').split('\n'); // the lines after it are shown above
  const sentence = why.replace(/\.?(?: Its last lines:)?$/, '');
  const where = failedStep === null || sentence.includes(failedStep) ? '' : ` in '${failedStep}'`;
  const what = status === 'CANCELLED' ? 'was cancelled' : `failed${where}`;
  return new BuildFailed(`build ${id} ${what}${sentence && `: ${sentence}`}. Nothing was changed`);
}

/** With a signal of its own: that of the terminal has aborted. */
async function cancel({ target }: ApiClient, id: string, { terminal, note }: CommandOutput): Promise<void> {
  const client = new ApiClient(target, { env: terminal.env, interrupted: AbortSignal.timeout(5_000) });
  await client.call('post', '/v2/builds/{id}/cancel', { path: { id } }).then(
    () => note(`Build ${id} is cancelled.`),
    () => note(`Build ${id} could not be cancelled: it may have ended.`),
  );
}
