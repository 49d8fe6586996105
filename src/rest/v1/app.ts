import { Failure } from '../../core/errors.ts';
import { REST_REVISIONS } from '../../core/rest-revisions.ts';
import { openApiRoute } from '../installation/get-openapi.ts';
import { addInTurns } from '../setup/add-in-turns.ts';
import { newApp } from '../setup/new-app.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import type { RestApp, RestDeps } from '../shared/rest-app.ts';
import { billingRoutes } from './v1-billing.ts';
import { endpointRoutes } from './v1-endpoint-routes.ts';
import { sendV1Error } from './v1-error.ts';
import { podRoutes } from './v1-pod-routes.ts';
import { registryRoutes } from './v1-registries.ts';
import type { V1Route } from './v1-route.ts';
import { V1_SCHEMAS } from './v1-schemas.ts';
import { templateRoutes } from './v1-template-routes.ts';
import { volumeRoutes } from './v1-volumes.ts';

const ROUTES: readonly V1Route[] = [
  podRoutes,
  endpointRoutes,
  templateRoutes,
  volumeRoutes,
  registryRoutes,
  billingRoutes,
  openApiRoute('/v1/openapi.json', 'openapi-v1.json'),
];

/**
 * Builds the app of REST version 1 (docs/interface/rest-v1.md): a mapping onto the operations of version 2, with the same
 * keys, permissions and limits. Await `ready()`.
 */
export function buildV1App(deps: RestDeps, describe?: (app: RestApp, schemas: NamedSchemas) => void): RestApp {
  const { app, finish } = newApp(deps, {
    schemas: V1_SCHEMAS.map(([schema]) => schema),
    revision: REST_REVISIONS[0], // it has no revisions
    api: 'v1',
    serveRevision: null,
    sendFailure: sendV1Error,
  });
  app.addHook('preValidation', async (request) =>
    listRepeated(request.query, request.routeOptions.schema?.querystring),
  );
  describe?.(app, V1_SCHEMAS);
  app.after(async () => {
    await addInTurns(ROUTES.map((addRoutes) => () => addRoutes(app, deps)));
    finish();
  });
  return app;
}

/** Makes a list of a parameter that may be repeated, and refuses to have any other one twice. */
function listRepeated(query: unknown, schema: unknown): void {
  const properties = (schema as { properties?: Record<string, { type?: string }> } | undefined)?.properties ?? {};
  const values = query as Record<string, unknown>;
  for (const [name, { type }] of Object.entries(properties)) {
    const value = values[name];
    if (type === 'array' && typeof value === 'string') values[name] = [value];
    if (type !== 'array' && Array.isArray(value)) throw new Failure('badRequest', `${name}: must not be repeated`);
  }
}
