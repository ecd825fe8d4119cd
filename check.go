package aicodebox

import (
	"errors"
	"fmt"
	"reflect"
)

// capabilities are the interfaces whose methods an adapter may have.
var capabilities = []reflect.Type{
	reflect.TypeFor[DescribeAdapter](),
	reflect.TypeFor[ValidateAdapter](),
	reflect.TypeFor[BuildEnvAdapter](),
	reflect.TypeFor[StreamParserAdapter](),
	reflect.TypeFor[LaunchAdapter](),
	reflect.TypeFor[SetupAdapter](),
}

// checkAdapter refuses an adapter that has a method with the name of a
// capability but does not have the capability: it would be ignored without a
// word. What a wraps is checked too.
func checkAdapter(a Adapter) error {
	var errs []error
	for a != nil {
		if v := reflect.ValueOf(a); v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("the adapter is a nil %T", a)
		}
		for _, capability := range capabilities {
			errs = append(errs, nearMiss(reflect.TypeOf(a), capability))
		}
		w, ok := a.(interface{ Unwrap() Adapter })
		if !ok {
			return errors.Join(errs...)
		}
		a = w.Unwrap()
	}
	return errors.Join(append(errs, errors.New("the adapter is nil"))...)
}

// nearMiss returns an error if adapter has a method of capability's name and
// not the capability.
func nearMiss(adapter, capability reflect.Type) error {
	if adapter.Implements(capability) {
		return nil
	}
	want := own(capability)
	if have, ok := adapter.MethodByName(want.Name); ok {
		return fmt.Errorf("adapter %v: method %s has the type %v, but the capability aicodebox.%s needs %v; change the method's type, or rename it if it is not meant to be the capability",
			adapter, want.Name, withoutReceiver(have.Type), capability.Name(), want.Type)
	}
	if adapter.Kind() == reflect.Pointer {
		return nil
	}
	if have, ok := reflect.PointerTo(adapter).MethodByName(want.Name); ok {
		return fmt.Errorf("adapter %v: method %s of type %v is declared on *%v, so the value does not have the capability aicodebox.%s (%v); pass a pointer to the adapter, or declare the method on %v",
			adapter, want.Name, withoutReceiver(have.Type), adapter, capability.Name(), want.Type, adapter)
	}
	return nil
}

// own returns the method that capability adds to Adapter.
func own(capability reflect.Type) reflect.Method {
	required := reflect.TypeFor[Adapter]()
	for m := range capability.Methods() {
		if _, ok := required.MethodByName(m.Name); !ok {
			return m
		}
	}
	panic("capability " + capability.Name() + " adds no method")
}

// withoutReceiver returns the type of a method as an interface would show it.
func withoutReceiver(method reflect.Type) reflect.Type {
	var in, out []reflect.Type
	for i := 1; i < method.NumIn(); i++ {
		in = append(in, method.In(i))
	}
	for t := range method.Outs() {
		out = append(out, t)
	}
	return reflect.FuncOf(in, out, method.IsVariadic())
}
