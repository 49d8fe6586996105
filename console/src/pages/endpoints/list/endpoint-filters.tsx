import { Group, Select, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useDeferredValue, useMemo } from 'react';
import { useSearchParams } from 'react-router';
import { choiceOptions } from '../../../ui/forms/fields.ts';
import { FilterRoom, Later } from '../../../ui/later.tsx';
import { useSearch } from '../../../ui/tables/record-list.tsx';
import { parseSort, type Sort, sortText } from '../../../ui/tables/select-records.ts';
import { StateFilter } from '../../../ui/tables/state-filter.tsx';
import { formatNumber } from '../../../ui/text/format.ts';
import { useUrlParams } from '../../../ui/use-url-params.ts';
import { ENDPOINT_STATES } from '../endpoint-states.ts';
import { ENDPOINT_FIELDS } from '../settings/endpoint-values.ts';
import { countStates, DEFAULT_SORT, type EndpointFilter, type EndpointRow, SORT_KEYS } from './endpoint-rows.ts';

const KINDS = choiceOptions(ENDPOINT_FIELDS.type.choices!);

/** Search, kind and image; below them a button for each state that some endpoint has. */
export function EndpointFilters(props: {
  rows: readonly EndpointRow[];
  /** Null until all rows are there. */
  foundCount: number | null;
  narrowing: EndpointFilterState;
}) {
  const { rows, foundCount, narrowing } = props;
  const { filter, search } = narrowing;
  const images = useMemo(() => imagesOf(rows), [rows]);
  return (
    <Group gap="xs" className="filters">
      <TextInput
        aria-label="Search endpoints"
        placeholder="Search"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={search}
        onChange={(event) => narrowing.setSearch(event.currentTarget.value)}
        className="filter-search"
      />
      <Later
        room={
          <>
            <FilterRoom />
            <FilterRoom />
          </>
        }
      >
        <Select
          aria-label="Kind"
          placeholder="Any kind"
          data={KINDS}
          value={filter.kind || null}
          onChange={(kind) => narrowing.setKind(kind ?? '')}
          clearable
        />
        <Select
          aria-label="Image"
          placeholder="Any image"
          data={images}
          value={filter.image || null}
          onChange={(image) => narrowing.setImage(image ?? '')}
          clearable
          searchable
          limit={50}
        />
      </Later>
      <Text size="sm" c="dimmed" className="figure" role="status">
        {foundText(foundCount, rows.length)}
      </Text>
      <StateFilter
        table={ENDPOINT_STATES}
        counts={countStates(rows)}
        chosen={filter.state}
        onChoose={narrowing.setState}
      />
    </Group>
  );
}

function foundText(found: number | null, all: number): string {
  if (found === null) return '…';
  return found === all ? formatNumber(all) : `${formatNumber(found)} of ${formatNumber(all)}`;
}

function imagesOf(rows: readonly EndpointRow[]): string[] {
  return [...new Set(rows.map(({ endpoint }) => endpoint.image))].sort();
}

/** The filter and the order of the list, kept in the address. */
export function useEndpointFilter() {
  const [params, set] = useUrlParams();
  const [, clear] = useSearchParams();
  const [search, setSearch] = useSearch();
  const of = (name: string) => params.get(name) ?? '';
  const filter: EndpointFilter = {
    search: useDeferredValue(search),
    state: of('state'),
    kind: of('kind'),
    image: of('image'),
  };

  return {
    filter,
    search,
    setSearch,
    setState: (state: string) => set('state', state),
    setKind: (kind: string) => set('kind', kind),
    setImage: (image: string) => set('image', image),
    reset: () => {
      setSearch('');
      clear({}, { replace: true });
    },
    sort: parseSort(params.get('sort'), SORT_KEYS, DEFAULT_SORT),
    setSort: (sort: Sort) => set('sort', sortText(sort)),
  };
}

type EndpointFilterState = ReturnType<typeof useEndpointFilter>;
