import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { endpointsQuery, firstEndpointsQuery } from '../../api/queries.ts';
import { Name, PendingName } from '../../ui/text/record-name.tsx';

/** Says what an endpoint is called; null while the list that has its name is read. */
export type NameOf = (id: string) => string | null;

/** Names endpoints. The first names of a long list are there before the whole; one that the list lacks, or may not be read, has its id. */
export function useEndpointNames(): NameOf {
  const { data: first } = useQuery(firstEndpointsQuery);
  const { data: all, isPending } = useQuery(endpointsQuery);
  return useMemo(() => {
    const names = new Map((all ?? first)?.endpoints.map(({ id, name }) => [id, name]));
    return (id) => names.get(id) ?? (isPending ? null : id);
  }, [first, all, isPending]);
}

export function EndpointName({ name }: { name: string | null }) {
  return name === null ? <PendingName /> : <Name>{name}</Name>;
}
