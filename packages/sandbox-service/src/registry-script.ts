export interface RegistryPatch {
  readonly registrar?: { readonly ianaId: string; readonly name: string };
  readonly statuses?: readonly string[];
  /** Shown in addition to the statuses that follow from the domain's state. */
  readonly locks?: readonly string[];
  /** The registrant. `redacted` shows a registrant without readable fields. */
  readonly owner?: { readonly name: string; readonly organization: string } | 'redacted';
  readonly nameServers?: readonly string[];
  readonly isSigned?: boolean;
  /** Milliseconds since the epoch. */
  readonly expires?: number;
  readonly transferredAt?: number;
  readonly deletedAt?: number;
  /** The registry doesn't know the name. */
  readonly isGone?: boolean;
  /** Members of the record to replace, as sent. `undefined` removes a member. */
  readonly record?: Readonly<Record<string, unknown>>;
}

export class RegistryScript {
  readonly #patches = new Map<string, RegistryPatch>();

  /** Patches a name's record. Earlier patches stay in effect. */
  show(name: string, patch: RegistryPatch): void {
    this.#patches.set(name, { ...this.#patches.get(name), ...patch });
  }

  clear(name: string): void {
    this.#patches.delete(name);
  }

  getPatch(name: string): RegistryPatch | undefined {
    return this.#patches.get(name);
  }
}

/** See RFC 9083, section 5.1. */
export function formatEntities({ registrar, owner }: RegistryPatch): readonly unknown[] {
  return [
    ...(registrar === undefined
      ? []
      : [
          {
            objectClassName: 'entity',
            roles: ['registrar'],
            handle: registrar.ianaId,
            publicIds: [{ type: 'IANA Registrar ID', identifier: registrar.ianaId }],
            vcardArray: createVCard([['fn', registrar.name]]),
          },
        ]),
    ...(owner === undefined
      ? []
      : [
          {
            objectClassName: 'entity',
            roles: ['registrant'],
            vcardArray:
              owner === 'redacted'
                ? createVCard([['fn', 'REDACTED FOR PRIVACY']])
                : createVCard([
                    ['fn', owner.name],
                    ['org', owner.organization],
                  ]),
          },
        ]),
  ];
}

function createVCard(fields: readonly (readonly [field: string, value: string])[]): unknown {
  const properties = fields.map(([field, value]) => [field, {}, 'text', value]);
  return ['vcard', [['version', {}, 'text', '4.0'], ...properties]];
}
