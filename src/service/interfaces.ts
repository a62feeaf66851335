import type { RequestIssue } from './request-issue.ts';
import type { Interface, TaskOutline } from './task.ts';

/** Service API, JSON interface and XML interface. */

export type AvailableInterfaces = Readonly<Record<Interface, boolean>>;

/**
 * Two factors aren't documented for JSON, and XML needs a URL.
 * @param hasXmlAddress whether `SERVICE_XML_URL` is set
 */
export function listCredentialInterfaces(method: string, hasXmlAddress: boolean): AvailableInterfaces {
  return { json: method !== 'two_factor', xml: hasXmlAddress };
}

export type InterfaceChoice = { readonly interface: Interface } | { readonly unsupported: RequestIssue };

/** @param wanted JSON by default, if possible */
export function chooseInterface(
  task: TaskOutline,
  available: AvailableInterfaces,
  wanted?: Interface,
): InterfaceChoice {
  if (task.json !== undefined && available.json && wanted !== 'xml') return { interface: 'json' };
  if (task.xml !== undefined && wanted !== 'json') {
    return available.xml ? { interface: 'xml' } : { unsupported: { code: 'xml_address_missing' } };
  }
  if (wanted === 'xml' || task.json === undefined) {
    return { unsupported: { code: 'other_interface_needed' } };
  }
  return { unsupported: { code: 'json_takes_no_two_factor' } };
}

/** The intersection with a credential's interfaces. */
export function listTaskInterfaces(task: TaskOutline, available: AvailableInterfaces): AvailableInterfaces {
  const isSupported = (via: Interface) => 'interface' in chooseInterface(task, available, via);
  return { json: isSupported('json'), xml: isSupported('xml') };
}
