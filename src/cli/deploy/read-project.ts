import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import { UsageError } from '../../core/usage-error.ts';
import { PROJECT_FILES } from '../../domain/projects/project-files.ts';
import type { ModelRequest } from '../models/endpoint-models.ts';
import type { NewerSchemas, Schemas } from '../shared/api-types.ts';

type Create = Schemas['CreateEndpointRequest'];

/** An endpoint as podyard.yaml has it. */
export interface ProjectEndpoint extends Partial<Omit<Create, 'networkVolumes' | 'templateId' | 'models'>> {
  cpu?: NonNullable<NewerSchemas['CreateEndpointRequest']['cpu']>;
  volumes?: string[];
  secrets?: Record<string, string>;
  schedule?: Schemas['ReplaceScheduleRequest'];
  /** A model without patterns and token is its source alone. */
  models?: (string | ModelRequest)[];
  build?: ProjectBuild;
}

interface ProjectBuild {
  dockerfile?: string;
  target?: string;
  args?: Record<string, string>;
  handler?: string;
  command?: string[];
  base?: string;
  python?: string;
  node?: string;
  systemPackages?: string[];
  secrets?: Record<string, string>;
  registries?: Record<string, string>;
}

/**
 * Returns the endpoints of the folder's podyard.yaml; one without fields if there is none. Throws a `UsageError` with each fault, its
 * line and column.
 */
export async function readProject(folder: string): Promise<ProjectEndpoint[]> {
  const found = await Promise.all(PROJECT_FILES.map((name) => readIfThere(join(folder, name))));
  if (found.every((text) => text !== null))
    throw new UsageError(`${PROJECT_FILES.join(' and ')} are both there: keep one`);
  const at = found.findIndex((text) => text !== null);
  if (at < 0) return [{}];
  const { parseProject } = await import('../../domain/projects/parse-project.ts'); // a third of the command's modules
  const endpoints: ProjectEndpoint[] = await parseProject(PROJECT_FILES[at]!, found[at]!);
  for (const { schedule } of endpoints) if (schedule) await checkSchedule(PROJECT_FILES[at]!, schedule);
  return endpoints;
}

/** Says what the server would once the endpoint is there: the schedule is set after it. */
async function checkSchedule(file: string, schedule: NonNullable<ProjectEndpoint['schedule']>): Promise<void> {
  const { checkFloorSchedule } = await import('../../domain/scheduled-floors/check-floors.ts');
  try {
    checkFloorSchedule(schedule);
  } catch (error) {
    if (error instanceof Failure) throw new UsageError(`${file}: schedule.${error.message}`);
    throw error;
  }
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null; // the folder is looked at later
    throw new UsageError(`${path} cannot be read: ${error.code}`);
  });
}
