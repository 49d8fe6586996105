import { type DocumentNode, Kind, type TypeNode } from 'graphql';

/** Names that input types had in earlier versions, or have in other versions of the public API, and their present ones. */
const PRESENT: Readonly<Record<string, string>> = {
  DeployCpuPodInput: 'deployCpuPodInput',
  CpuFlavorFilter: 'CpuFlavorInput',
};

/** Replaces former names of types in declared variables, so that documents with them stay valid. */
export function renameTypes(document: DocumentNode): void {
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    for (const { type } of definition.variableDefinitions ?? []) rename(type);
  }
}

function rename(declared: TypeNode): void {
  let type = declared;
  while (type.kind !== Kind.NAMED_TYPE) type = type.type;
  const name = type.name as { value: string };
  if (Object.hasOwn(PRESENT, name.value)) name.value = PRESENT[name.value]!;
}
