/** What a row works on: a real proxy with a real Pi, and a page in a real browser. */
import { dirname } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright';
import { scripted, type Scripted } from '../../server/bridge/real-pi.ts';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { end, expect as playwrightExpect, startProxy, Ui, type Holdfast } from '../holdfast.ts';
import { processesWith } from './processes.ts';

/** Waits longer than a page ever should: what is slow is measured, and is no mystery. */
export const expect = playwrightExpect.configure({ timeout: 20_000 });

export interface Bench {
	holdfast: Holdfast;
	folder: Scripted;
	/** In the environment of every process of this bench. */
	mark: string;
	context: BrowserContext;
	page: Page;
	ui: Ui;
	/** Resolves when the page receives such a frame, which is before it shows what that says. */
	heard(frame: RegExp): Promise<void>;
	/** A further page, on the session that is open in the first, unless told otherwise. */
	another(url?: string): Promise<{ page: Page; ui: Ui }>;
}

export interface BenchOptions {
	settings?: object;
	flags?: string[];
	env?: NodeJS.ProcessEnv;
	/** Called before the proxy starts; returns what undoes it when all has ended. */
	prepare?: (folder: Scripted) => () => void;
	/** The page is left for the row to open. */
	closed?: boolean;
}

/** Starts it all, lets the row use it, and ends every process of it, whatever happened. */
export async function withBench(
	browser: Browser,
	play: (request: ModelRequest) => Reply,
	{ settings, flags = [], env = {}, prepare, closed = false }: BenchOptions,
	use: (bench: Bench) => Promise<void>,
) {
	const folder = await scripted(play, settings);
	const mark = `PI_CODING_AGENT_DIR=${folder.agentDir}`;
	const state = { XDG_STATE_HOME: `${dirname(dirname(folder.agentDir))}/.state` };
	let undo: (() => void) | undefined;
	let holdfast: Holdfast | undefined;
	let context: BrowserContext | undefined;
	const thrown: string[] = [];
	try {
		undo = prepare?.(folder);
		holdfast = await startProxy(folder, flags, { ...state, ...env });
		context = await browser.newContext();
		context.setDefaultTimeout(20_000);
		context.on('weberror', (event) => thrown.push(event.error().message));
		const { page, ui } = await newPage(context);
		const listeners = new Set<(frame: string) => void>();
		page.on('websocket', (socket) =>
			socket.on('framereceived', ({ payload }) => {
				for (const listener of listeners) listener(String(payload));
			}),
		);
		const heard = (wanted: RegExp) =>
			new Promise<void>((resolve) => {
				const listener = (frame: string) => {
					if (!wanted.test(frame)) return;
					listeners.delete(listener);
					resolve();
				};
				listeners.add(listener);
			});
		const another = async (url?: string) => {
			const other = await newPage(context!);
			await other.page.goto(url ?? page.url());
			return other;
		};
		if (!closed) {
			await page.goto(holdfast.url);
			await ready(page);
		}
		await use({ holdfast, folder, mark, context, page, ui, heard, another });
		if (thrown.length > 0) throw new Error('the page is broken');
	} catch (error) {
		if (thrown.length > 0) (error as Error).message += `; the page threw: ${thrown.join('; ')}`;
		throw error;
	} finally {
		await context?.close();
		// One that a row has stopped would not hear the end.
		for (const { pid } of processesWith(mark)) signal(pid, 'SIGCONT');
		if (holdfast) await end(holdfast.proxy);
		for (const { pid } of processesWith(mark)) signal(pid, 'SIGKILL');
		undo?.();
		await folder.remove();
	}
}

async function newPage(context: BrowserContext) {
	const page = await context.newPage();
	return { page, ui: new Ui(page) };
}

/** The page has its session. */
export async function ready(page: Page) {
	await expect(page.locator('[role=status]')).toHaveText('Pi is ready.');
}

/** Another conversation in the same page, with a Pi of its own. */
export async function fresh({ page, ui, holdfast }: Bench) {
	await page.goto(new URL('/', holdfast.url).href);
	await ready(page);
	await expect(ui.prompts).toHaveCount(0);
}

export function signal(pid: number, name: NodeJS.Signals) {
	try {
		process.kill(pid, name);
	} catch {
		// It has just ended.
	}
}

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Waits until something is true that no page shows. */
export async function until(what: string, look: () => boolean, limitMs = 20_000) {
	const began = performance.now();
	while (!look()) {
		if (performance.now() - began > limitMs) throw new Error(`Never came: ${what}`);
		await sleep(5);
	}
	return performance.now() - began;
}

/**
 * The moment, by the clock of this machine, at which an element that matches the selector first
 * has such a text, or at which none has it any more; the page itself looks, at each change.
 */
export function seenAt(page: Page, selector: string, pattern: RegExp, there = true) {
	return page.evaluate(
		([selector, source, there, limitMs]) =>
			new Promise<number>((resolve, reject) => {
				const wanted = new RegExp(source);
				const look = () => {
					const found = [...document.querySelectorAll(selector)].some((element) =>
						wanted.test(element.textContent ?? ''),
					);
					if (found !== there) return;
					observer.disconnect();
					clearTimeout(timer);
					resolve(Date.now());
				};
				const observer = new MutationObserver(look);
				const timer = setTimeout(() => {
					observer.disconnect();
					reject(new Error(`The page ${there ? 'never said' : 'went on saying'} ${source}`));
				}, limitMs);
				observer.observe(document.documentElement, {
					childList: true,
					subtree: true,
					characterData: true,
				});
				look();
			}),
		[selector, pattern.source, there, 20_000] as const,
	);
}

/** Clicks a button from within the page, and the time from there to a text of the status. */
export function clickToStatus(page: Page, button: string, status: RegExp) {
	return page.evaluate(
		([button, source]) =>
			new Promise<number>((resolve, reject) => {
				const wanted = new RegExp(source);
				const found = [...document.querySelectorAll('button')].find(
					(one) => one.textContent?.trim() === button && !one.disabled,
				);
				if (!found) return reject(new Error(`There is no button "${button}"`));
				const began = performance.now();
				const observer = new MutationObserver(look);
				const timer = setTimeout(
					() => reject(new Error(`"${button}" never led to ${source}`)),
					20_000,
				);
				function look() {
					if (!wanted.test(document.querySelector('[role=status]')?.textContent ?? '')) return;
					observer.disconnect();
					clearTimeout(timer);
					resolve(performance.now() - began);
				}
				observer.observe(document.body, { childList: true, subtree: true, characterData: true });
				found.click();
				look();
			}),
		[button, status.source] as const,
	);
}
