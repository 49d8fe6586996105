import type { FastifyReply } from 'fastify';
import type { BuildId } from '../../core/ids.ts';
import { escapeUnit } from '../../core/text/ascii-json.ts';
import type { Actor } from '../../domain/access/actor.ts';
import type { Build, BuildLine } from '../../domain/builds/build.ts';
import { getBuild } from '../../domain/builds/build-store.ts';
import { type EndedBuild, followBuildLog } from '../../domain/builds/follow-build-log.ts';
import { COMMENT_EVERY_MS, eventStreamSchema, sendEventStream, whileConnected } from '../live/event-stream.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { BuildLogHeaders, BuildParams } from './build-schemas.ts';

const LINES = 'application/x-ndjson';

/** How lines, the end and a quiet quarter of a minute are written. */
interface LogFormat {
  line(line: BuildLine): string;
  end(ended: EndedBuild): string;
  quiet: string;
}

/** Unicode line ends that the event stream format doesn't know, but some clients split at. */
const ODD_LINE_ENDS = /[\r\u0085\u2028\u2029]/g;

const toData = ({ at, ...line }: BuildLine) =>
  JSON.stringify({ ...line, at: at.toISOString() }).replace(ODD_LINE_ENDS, escapeUnit);

const EVENTS: LogFormat = {
  line: (line) => `id: ${line.number}\ndata: ${toData(line)}\n\n`,
  end: (ended) => `event: end\ndata: ${JSON.stringify(ended)}\n\n`,
  quiet: ': still here\n\n',
};
const JSON_LINES: LogFormat = { line: (line) => `${toData(line)}\n`, end: () => '', quiet: '\n' };
/** As the public API has it: the bare text. */
export const TEXT_EVENTS: LogFormat = {
  ...EVENTS,
  line: ({ number, text }) => `id: ${number}\ndata: ${text.replace(ODD_LINE_ENDS, ' ')}\n\n`,
  end: ({ status }) => `event: end\ndata: ${JSON.stringify({ status })}\n\n`,
};

export const buildLogRoutes: RestRoute = (app, deps) => {
  app.get('/v2/builds/:id/logs', {
    exposeHeadRoute: false, // a HEAD request would keep reading the log
    schema: {
      operationId: 'streamBuildLog',
      summary: 'Stream the log of a build',
      description: `Podyard only. Every line from the first on, and later ones as they come; an event named \`end\` says how the build ended, with its image, and is the last. With \`Accept: ${LINES}\`: one JSON object a line.`,
      tags: ['podyard'],
      params: BuildParams,
      headers: BuildLogHeaders,
      response: {
        200: eventStreamSchema(
          'Server-sent events, one per line; `data` has `number`, `at`, `step`, `stream` and `text`.',
          ': stream begins\n\nid: 1\ndata: {"number":1,"step":"install the dependencies","stream":"stdout","text":"Collecting numpy","at":"2026-11-20T10:02:19.481Z"}\n\nevent: end\ndata: {"status":"COMPLETED"}\n\n',
        ),
      },
    },
    config: { permission: PERMISSIONS.readBuild, failures: ['notFound', 'unprocessable'] },
    handler: async ({ actor, params, headers }, reply) => {
      const build = await getBuild(deps.pool, actor.userId, params.id as BuildId);
      const after = Number(headers['last-event-id'] ?? 0);
      const isLines = (headers as { accept?: string }).accept?.includes(LINES) === true;
      return sendBuildLog(deps, reply, actor, { build, after, format: isLines ? JSON_LINES : EVENTS });
    },
  });
};

export function sendBuildLog(
  deps: RouteDeps,
  reply: FastifyReply,
  actor: Actor,
  { build, after, format }: { build: Build; after: number; format: LogFormat },
): FastifyReply {
  const sources = { db: deps.pool, bus: deps.bus };
  const events = whileConnected(deps, { socket: reply.raw, actor }, async function* (signal) {
    if (format !== JSON_LINES) yield ': stream begins\n\n';
    const options = { id: build.id, after, quietMs: COMMENT_EVERY_MS, signal };
    for await (const { lines, ended } of followBuildLog(sources, options)) {
      if (lines.length > 0) yield lines.map((line) => format.line(line)).join('');
      else if (ended === null) yield format.quiet;
      if (ended !== null) yield format.end(ended);
    }
  });
  return sendEventStream(reply, events, format === JSON_LINES ? LINES : undefined);
}
