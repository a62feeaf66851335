/** What the public record of a name shows in place of what the sandbox would show by itself. */
export interface RegistryPatch {
  readonly registrar?: { readonly ianaId: string; readonly name: string };
  readonly statuses?: readonly string[];
  /** `redacted` shows a registrant without anything to be read. */
  readonly owner?: { readonly name: string; readonly organization: string } | 'redacted';
  readonly nameServers?: readonly string[];
  readonly isSigned?: boolean;
  /** Milliseconds since the epoch, as all times here. */
  readonly expires?: number;
  readonly transferredAt?: number;
  readonly deletedAt?: number;
  /** The registry knows no such name. */
  readonly isGone?: boolean;
}

/** What the registry's public records are made to show, beside what people order. */
export class RegistryScript {
  readonly #patches = new Map<string, RegistryPatch>();

  /** Has a name's record show this from now on, besides what it was made to show before. */
  show(name: string, patch: RegistryPatch): void {
    this.#patches.set(name, { ...this.#patches.get(name), ...patch });
  }

  /** Has a name's record show what the sandbox knows. */
  clear(name: string): void {
    this.#patches.delete(name);
  }

  patchOf(name: string): RegistryPatch | undefined {
    return this.#patches.get(name);
  }
}

/** The entities of a record (RFC 9083, 5.1) that a patch names. */
export function entitiesOf({ registrar, owner }: RegistryPatch): readonly unknown[] {
  return [
    ...(registrar === undefined
      ? []
      : [
          {
            objectClassName: 'entity',
            roles: ['registrar'],
            handle: registrar.ianaId,
            publicIds: [{ type: 'IANA Registrar ID', identifier: registrar.ianaId }],
            vcardArray: card([['fn', registrar.name]]),
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
                ? card([['fn', 'REDACTED FOR PRIVACY']])
                : card([
                    ['fn', owner.name],
                    ['org', owner.organization],
                  ]),
          },
        ]),
  ];
}

function card(fields: readonly (readonly [field: string, value: string])[]): unknown {
  const properties = fields.map(([field, value]) => [field, {}, 'text', value]);
  return ['vcard', [['version', {}, 'text', '4.0'], ...properties]];
}
