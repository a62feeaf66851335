/** The tasks that a CSV file can request, and their columns. */

export const BULK_TASKS = ['renew', 'nameservers', 'delete', 'transfer', 'create'] as const;
export type BulkTask = (typeof BULK_TASKS)[number];

const CONTACTS = ['ownerc', 'adminc', 'techc'] as const;
const ALL_COLUMNS = ['name', 'period', 'auth', ...CONTACTS, 'nameservers'] as const;
export type BulkColumn = (typeof ALL_COLUMNS)[number];

export const BULK_COLUMNS: Readonly<Record<BulkTask, readonly BulkColumn[]>> = {
  renew: ['name', 'period'],
  nameservers: ['name', 'nameservers'],
  delete: ['name'],
  transfer: ['name', 'auth', ...CONTACTS, 'nameservers'],
  create: ['name', ...CONTACTS, 'nameservers'],
};

export function isBulkColumn(text: string): text is BulkColumn {
  return ALL_COLUMNS.some((column) => column === text);
}
