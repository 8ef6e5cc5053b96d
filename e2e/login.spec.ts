import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from './holdfast.ts';

const script = (name: string) => fileURLToPath(new URL(`../server/${name}.ts`, import.meta.url));

test('a page without a log-in says how to get in, and an address put into it lets it in', async ({
	page,
	start,
	ui,
}) => {
	const holdfast = await start(() => [{ text: 'Welcome.' }]);
	await page.goto(new URL('/', holdfast.url).href);
	await expect(page.getByText('This browser is not logged in')).toBeVisible();
	await expect(page.getByText('npm run open')).toBeVisible();
	await expect(page.getByText('Pi is starting')).toHaveCount(0);
	await ui.message.fill('Kept meanwhile.');

	await page.goto(holdfast.address());
	await expect(page.getByText('This browser is not logged in')).toHaveCount(0);
	await expect(ui.message).toHaveValue('Kept meanwhile.');
	expect(page.url()).not.toContain('ticket');
	await ui.button('Send').click();
	await expect(ui.answers).toHaveText(['Welcome.']);
});

test('an address is good once, for the browser that has it open as well', async ({
	page,
	start,
	browser,
	ui,
}) => {
	const { url } = await start(() => [{ text: 'Once.' }]);
	await page.goto(url);
	await ui.send('Hello.');
	await expect(ui.answers).toHaveText(['Once.']);
	await page.goto('about:blank');
	await page.goto(url);
	await ui.send('Hello again.');
	await expect(ui.answers).toHaveText(['Once.']);

	const stranger = await browser.newContext();
	const other = await stranger.newPage();
	await other.goto(url);
	await expect(other.getByText('This browser is not logged in')).toBeVisible();
	await stranger.close();
});

test('`npm run lock` shuts every page at once, `npm run open` lets one in again', async ({
	page,
	start,
	ui,
	context,
}) => {
	const holdfast = await start(({ messages }) => [{ text: `Heard ${messages.length}.` }]);
	const run = (name: string) =>
		spawnSync(process.execPath, [script(name)], { encoding: 'utf8', env: holdfast.env }).stdout;
	await page.goto(holdfast.url);
	await ui.send('Hello.');
	await expect(ui.answers).toHaveText(['Heard 1.']);
	const [before] = await context.cookies();

	expect(run('lock')).toContain('All browsers are logged out');
	await expect(page.getByText('This browser is not logged in')).toBeVisible();
	await expect(ui.answers).toHaveText(['Heard 1.']);
	await ui.message.fill('Still here.');
	expect(await context.cookies()).toEqual([]);

	// In another tab of the same browser: this one hears of it.
	const [address] = run('open').trim().split('\n');
	const other = await context.newPage();
	await other.goto(address!);
	await expect(page.getByText('This browser is not logged in')).toHaveCount(0);
	await ui.button('Send').click();
	await expect(ui.answers).toHaveText(['Heard 1.', 'Heard 3.']);

	const [cookie] = await context.cookies();
	expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' });
	expect(cookie!.name).toBe(`holdfast_${new URL(holdfast.url).port}`);
	expect(cookie!.value).not.toBe(before!.value);
});
