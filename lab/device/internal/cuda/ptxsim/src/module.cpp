// A module of PTX, line by line: declarations here, bodies of kernels in body.cpp.
#include <cstdlib>
#include <memory>

#include "body.h"
#include "options.h"
#include "words.h"

namespace ptx {

namespace {

u32 aligned(u32 at, u32 to) { return (at + to - 1) / to * to; }

// Variable is a declaration: [.align n] .type name[count]
struct Variable {
  std::string name;
  u32 align = 0, size = 0;
  explicit Variable(const std::string& text) {
    std::vector<std::string> w = words(text);
    for (size_t k = 0; k < w.size(); k++) {
      if (w[k] == ".align") align = atoi(w[++k].c_str());
      else if (w[k][0] == '.') size = atoi(w[k].c_str() + 2) / 8; // the type comes last of what begins with a dot
      else name = w[k];
    }
    if (!align) align = size;
    if (size_t open = name.find('['); open != std::string::npos) {
      size *= atoi(name.c_str() + open + 1);
      name.resize(open);
    }
  }
};

class Parser {
 public:
  Kernels kernels;

  void read(const std::string& text) {
    size_t at = 0;
    for (int number = 1; at < text.size(); number++) {
      size_t end = std::min(text.find('\n', at), text.size());
      std::string s = text.substr(at, end - at);
      at = end + 1;
      s = trim(s.substr(0, s.find("//")));
      if (s.empty()) continue;
      if (body) body->line = number;
      if (patched(number)) s = replacement;
      line(s, number);
    }
  }

 private:
  enum { outside, parameters, head, inside } place = outside;
  std::unique_ptr<Body> body;
  std::shared_ptr<std::vector<u8>> constants = std::make_shared<std::vector<u8>>();
  std::map<std::string, u64> symbols; // of the constants
  int first = 0;                      // line of the kernel's .entry
  std::string replacement;

  // patched is whether a line is the one that PTXSIM_PATCH replaces.
  bool patched(int number) {
    if (!body || options.patch.empty()) return false;
    std::string key = body->kernel->name + ":" + std::to_string(number - first) + ":";
    if (!starts(options.patch, key)) return false;
    replacement = options.patch.substr(key.size());
    return true;
  }

  void line(const std::string& s, int number) {
    switch (place) {
      case outside: return declaration(s, number);
      case parameters: return parameter(s);
      case head:
        if (s == "{") place = inside;
        else if (auto w = words(s); w[0] == ".maxntid") body->kernel->threads = atoi(w[1].c_str());
        else if (w[0] != ".minnctapersm") body->fail(s);
        return;
      case inside: return statement(s);
    }
  }

  void declaration(const std::string& s, int number) {
    auto w = words(s);
    if (w[0] == ".version" || w[0] == ".target" || w[0] == ".address_size") return;
    if (w[0] == ".const") return constant(s);
    if (w[0] != ".visible" || w[1] != ".entry") throw Unreadable{"line " + std::to_string(number) + ": " + s};
    body = std::make_unique<Body>(w[2].substr(0, w[2].find('(')));
    body->symbols = symbols;
    body->kernel->constants = constants;
    first = number;
    place = parameters;
  }

  void constant(const std::string& s) { // .const .align 8 .b8 name[n] = {1, 2, …};
    size_t equals = s.find('='), open = s.find('{');
    Variable v(s.substr(6, equals - 6));
    u32 at = aligned(constants->size(), v.align);
    constants->resize(at);
    for (auto& w : words(s.substr(open + 1, s.find('}') - open - 1))) constants->push_back(atoi(w.c_str()));
    constants->resize(at + v.size);
    symbols[v.name] = at;
  }

  void parameter(const std::string& s) {
    if (s[0] == ')') {
      place = head;
      return;
    }
    Variable v(s);
    Kernel& k = *body->kernel;
    u32 at = aligned(k.params_size, v.align);
    k.params.push_back({at, v.size});
    k.params_size = at + v.size;
    body->symbols[v.name] = at;
  }

  void statement(std::string s) {
    if (s == "}") return finish();
    if (starts(s, ".pragma")) return;
    if (s[0] == '{') { // { .reg .b32 tmp; mov.b64 {tmp, %r1}, %rd1; }
      for (auto& one : split(s.substr(1, s.rfind('}') - 1), ';'))
        starts(one, ".reg") ? body->declare(one) : body->statement(one);
      return;
    }
    if (s.back() == ':') return body->label(s.substr(0, s.size() - 1));
    if (s.back() != ';') body->fail(s);
    s.pop_back();
    if (starts(s, ".reg")) return body->declare(s);
    if (!starts(s, ".shared")) return body->statement(s);
    Variable v(s);
    u32 at = aligned(body->kernel->shared_size, v.align);
    body->symbols[v.name] = at;
    body->kernel->shared_size = at + v.size;
  }

  void finish() {
    body->finish();
    if (options.contract) contract(*body->kernel);
    kernels[body->kernel->name] = body->kernel;
    body.reset();
    place = outside;
  }
};

} // namespace

Kernels parse(const std::string& text) {
  Parser m;
  m.read(text);
  return m.kernels;
}

} // namespace ptx
