import type { FastifyReply, FastifyRequest } from 'fastify';
import { FAILURES, type Failure, type FailureKind } from '../../core/errors.ts';
import { asciiJson } from '../../core/text/ascii-json.ts';
import { logFailure, renderProblem } from '../../http/problem.ts';
import { routeOf } from '../setup/request-hooks.ts';
import type { RestDeps } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';

export const V1Error = Type.Object(
  {
    error: Type.String({ description: 'What went wrong, in words.' }),
    message: Type.String({ description: 'The same text: some clients read this member.' }),
    status: Type.Integer({ description: 'The HTTP status code.' }),
    problems: Type.Optional(
      Type.Array(Type.String(), { description: 'Validation failures, each as `location: failure`.' }),
    ),
  },
  { $id: 'V1Error', description: 'The body of every error response.' },
);

/** Names of fields in version 1, by their names in the texts of operations. */
const FIELDS: Readonly<Record<string, string>> = {
  image: 'imageName',
  '/image': '/imageName',
  args: 'dockerStartCmd',
  disk: 'containerDiskInGb',
  registry: 'containerRegistryAuthId',
  gpu: 'gpuTypeIds',
  'gpu.id': 'gpuTypeIds',
  'gpu.pools': 'gpuTypeIds',
  'gpu.count': 'gpuCount',
  cpu: 'cpuFlavorIds',
  'cpu.id': 'cpuFlavorIds',
  'cpu.vcpuCount': 'vcpuCount',
  'mounts.network': 'networkVolumeId',
  'mounts.persistent': 'volumeInGb',
  'mounts.persistent.size': 'volumeInGb',
  'mounts.persistent.path': 'volumeMountPath',
  mounts: 'volumeMountPath',
  networkVolumes: 'networkVolumeIds',
  dataCenter: 'dataCenterId',
};
const PLACE = /^[\w./[\]-]+(?=: )/;

/** Names the field at the start of a text as version 1 does. */
function withV1Names(text: string): string {
  return text
    .replace(PLACE, (field) => FIELDS[field.replace(/\[\d+\]/, '')] ?? field)
    .replace(/^workers\.min (\(\d+\) must not be greater than) workers\.max/, 'workersMin $1 workersMax');
}

/** Version 1 knows no 422: a schema failure is a 400, whose text lists the failures. */
function statusOf(kind: FailureKind): number {
  return kind === 'unprocessable' ? FAILURES.badRequest.status : FAILURES[kind].status;
}

/** Returns a failure as version 1 shows it. */
function renderV1Error(failure: Failure): { status: number; headers: string[]; body: object } {
  const { headers, problem } = renderProblem(failure);
  const status = statusOf(failure.kind);
  const problems = problem.errors?.map(withV1Names);
  const text = problems === undefined ? withV1Names(problem.detail) : `${problem.detail} ${problems.join('; ')}`;
  return { status, headers, body: { error: text, message: text, status, ...(problems && { problems }) } };
}

/** Sends a failure in the shape that clients of version 1 read. */
export function sendV1Error(deps: RestDeps, failure: Failure, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, body } = renderV1Error(failure);
  if (status >= 500) logFailure(deps.logger, failure, { requestId: request.id, route: routeOf(request) });
  for (let i = 0; i < headers.length; i += 2) reply.header(headers[i]!, headers[i + 1]);
  reply
    .code(status)
    .header('content-type', 'application/json')
    .send(Buffer.from(asciiJson(body))); // a string would get a charset added
}
