import toTypes, { astToString, type OpenAPI3 } from 'openapi-typescript';

/** Returns the TypeScript types of an OpenAPI description. It is here because the generator needs the console's TypeScript. */
export async function generateTypes(description: OpenAPI3): Promise<string> {
  return astToString(await toTypes(description, { defaultNonNullable: false }));
}
