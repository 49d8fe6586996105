interface Described {
  paths: Record<string, Record<string, { responses: Record<string, object> }>>;
  components: object;
}

/** Returns an OpenAPI description in which every operation holds its responses itself instead of referring to shared ones. */
export function resolveResponses<T extends object>(description: T): T {
  const { paths, components } = description as Described;
  const { responses: shared } = components as { responses: Record<string, object> };
  for (const { responses } of Object.values(paths).flatMap((path) => Object.values(path))) {
    for (const [status, response] of Object.entries(responses)) {
      if ('$ref' in response) responses[status] = shared[String(response.$ref).split('/').at(-1)!]!;
    }
  }
  return description;
}
