/** What is attacked: real proxies with real Pis, in folders of their own, and a browser. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright';
import { scripted, type Scripted } from '../../server/bridge/real-pi.ts';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { launchOptions } from '../browser.ts';
import { processesWith } from '../faults/processes.ts';
import { end, expect as playwrightExpect, startProxy, Ui, type Holdfast } from '../holdfast.ts';
import { EXTENSION } from './extension.ts';

export const expect = playwrightExpect.configure({ timeout: 30_000 });

/** A proxy of its own, whose model says what `play` says at the time. */
export interface Target {
	holdfast: Holdfast;
	folder: Scripted;
	port: number;
	/** In the environment of every process of it. */
	mark: string;
	/** Where its user lives. Others may look into it: what keeps them out is Holdfast's own doing. */
	home: string;
	play: (request: ModelRequest) => Reply;
	close(): Promise<void>;
}

export interface Stage {
	browser: Browser;
	target: Target;
	/** By how much the one limit in time is wider than said. */
	slack: number;
}

/** Foreign names lead to this machine, or nowhere: nothing here leaves it. */
const NAMES = 'MAP evil.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost';

export function launch() {
	const { args = [], ...options } = launchOptions();
	return chromium.launch({ ...options, args: [...args, `--host-resolver-rules=${NAMES}`] });
}

/** `origin` is another address that it is reached by, which it then prints in place of its own. */
export async function startTarget(flags: string[] = [], origin?: string): Promise<Target> {
	const target = { play: () => [{ text: 'Yes.', pace: 0 }] } as Pick<Target, 'play'> as Target;
	const folder = await scripted((request) => target.play(request));
	const home = dirname(dirname(folder.agentDir));
	const [state, temporary] = [join(home, 'state'), join(home, 'temporary')];
	for (const open of [state, temporary]) mkdirSync(open);
	for (const open of [home, state]) chmodSync(open, 0o755);
	chmodSync(temporary, 0o1777);
	mkdirSync(join(folder.agentDir, 'extensions'));
	writeFileSync(join(folder.agentDir, 'extensions/hostile.ts'), EXTENSION);

	const env = { XDG_STATE_HOME: state, TMPDIR: temporary };
	const reserved = origin === undefined ? [] : ['--origin', origin, '--port', await freePort()];
	const holdfast = await startProxy(folder, [...flags, ...reserved], env);
	return Object.assign(target, {
		...{ holdfast, folder, home, port: Number(reserved[3] ?? new URL(holdfast.url).port) },
		mark: `PI_CODING_AGENT_DIR=${folder.agentDir}`,
		async close() {
			await end(holdfast.proxy);
			for (const { pid } of processesWith(target.mark)) {
				try {
					process.kill(pid, 'SIGKILL');
				} catch {
					// It has just ended.
				}
			}
			await folder.remove();
		},
	});
}

function freePort(): Promise<string> {
	const server = createServer();
	return new Promise((resolve) =>
		server.listen(0, '127.0.0.1', () => {
			const { port } = server.address() as AddressInfo;
			server.close(() => resolve(String(port)));
		}),
	);
}

/** A page that is logged in and has its session, in a browser profile of its own unless told otherwise. */
export async function openPage(
	{ browser, target }: Pick<Stage, 'browser' | 'target'>,
	prepare: (context: BrowserContext) => Promise<void> = async () => {},
): Promise<{ context: BrowserContext; page: Page; ui: Ui }> {
	const context = await browser.newContext();
	context.setDefaultTimeout(30_000);
	await prepare(context);
	const page = await context.newPage();
	await page.goto(target.holdfast.address());
	await ready(page);
	return { context, page, ui: new Ui(page) };
}

export const ready = (page: Page) =>
	expect(page.locator('[role=status]')).toHaveText('Pi is ready.');
