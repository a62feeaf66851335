import type { RequestIssue } from './request-issue.ts';
import type { Interface, TaskOutline } from './task.ts';

/** Which interfaces a task or credential can use (service API, JSON interface and XML interface). */

export type AvailableInterfaces = Readonly<Record<Interface, boolean>>;

/**
 * Two-factor authentication isn't documented for JSON, and XML needs a URL.
 * @param hasXmlAddress whether `SERVICE_XML_URL` is set
 */
export function listCredentialInterfaces(method: string, hasXmlAddress: boolean): AvailableInterfaces {
  return { json: method !== 'two_factor', xml: hasXmlAddress };
}

export type InterfaceChoice = { readonly interface: Interface } | { readonly unsupported: RequestIssue };

/** @param wanted default: JSON if possible */
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

/** The interfaces that both the task and the credential support. */
export function listTaskInterfaces(task: TaskOutline, available: AvailableInterfaces): AvailableInterfaces {
  const isSupported = (via: Interface) => 'interface' in chooseInterface(task, available, via);
  return { json: isSupported('json'), xml: isSupported('xml') };
}
